// Package edge is the map of the wing through which callers reach the service. It has no code of its own.
//
// A call meets its packages in this order:
//
//	protocolmux  sorts the connections of one port by protocol
//	httpapi      REST, Connect and gRPC-Web, translated to calls of gRPC
//	grpcserver   verifies callers, admits calls, bounds connections, keeps deadlines, audits; knows no RPC by name
//	admission    decides which calls may run now
//	grpcapi      the handlers; access.go says which role may call what. grpcapi/requests checks what a request holds,
//	             grpcapi/enums converts enums, grpcapi/statuses maps errors
//	mcpserver    one user's memory for models, as a client of the API
//	console      pages for people, as a client of the API
//
// The wing imports all wings but program and testing. Begin with grpcapi/record.go.
package edge
