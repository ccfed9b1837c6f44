// Package program is the map of the wing that puts the program together. It has no code of its own.
//
// A start meets its packages in this order:
//
//	cli              the command line: commands that run a server or open its stores, and the table of all commands
//	cli/remote       commands that call a running server; remote/access those about keys, tenants and the audit,
//	                 remote/importing the import of files
//	cli/terminal     flags, the connection, errors for people, tables
//	cli/chatformats  messages and exports of other programs
//	config           every setting, in one struct
//	app              opens the stores, wires the use cases, runs the background work; the only package that names drivers
//	telemetry        metrics and traces
//	diskspace        asks the system how much room a disk has
//
// The wing may import every other wing but testing. Begin with app/app.go, app/usecases.go for the wiring.
package program
