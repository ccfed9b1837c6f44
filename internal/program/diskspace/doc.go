// Package diskspace is apart since the server and the command doctor share it, and since systems differ in it: it asks how much room a
// disk has.
package diskspace
