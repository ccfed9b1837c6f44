// Package erasure carries out what persons want gone: it takes away what erased messages taught, sweeps what is left of an
// erasure from the primary store and its views, and keeps the receipt.
//
// An erasure meets the packages in this order:
//
//	eraser     the use case: erases messages, sessions, summaries and users, and pops messages
//	retention  finds what was kept as long as its profile says, and has it erased
//	erasure    the sweeper, which finishes what was begun, in every store
//	ledger     what was erased, noted outside of backups, and erased again after a restore
//
// The cascade itself, what an erasure takes with it, is decided in store/writeplan and carried out by the drivers. The wing
// imports recall, learning, store, language and memory, and profiles from contexts/contextprofile. Begin with
// eraser/eraser.go, then sweeper.go.
package erasure
