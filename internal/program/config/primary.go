package config

// Primary is a kind of store that can hold all data.
type Primary int

// The kinds.
const (
	PrimarySQLite  Primary = iota + 1 // the file that data names
	PrimaryMongoDB                    // the server that mongodb-uri names
)

// Primary returns the primary store that is configured: MongoDB if mongodb-uri is set, otherwise the SQLite file.
func (c Config) Primary() Primary {
	if c.MongoDBURI.IsSet() {
		return PrimaryMongoDB
	}
	return PrimarySQLite
}
