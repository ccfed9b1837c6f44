// Package diskspace asks the system how much room a disk has.
package diskspace
