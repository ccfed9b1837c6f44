package httpapi

// importType is the type of the file that a user is imported from.
const importType = "application/x-ndjson"
