// Package nft puts packet filter rules into the kernel by nft(8): whole
// rulesets and the differences between two of them, each as one transaction
// that the kernel takes completely or not at all.
//
// # The way through it
//
// A Ruleset is plain data: sets, maps, chains and helpers of tables that are
// ours alone, made by l4/kernel. Load turns one into a Batch that replaces
// whatever those tables hold; Diff into one that changes only what differs.
// Runner.Apply hands a Batch to `nft -f -`. An error tells which owner (farm)
// the refused line belongs to, so that one farm's trouble is nobody else's.
//
// Sets whose elements packets add (Learned) keep them over every Diff; Load
// takes those to be carried over, which Runner.Learned reads.
//
// # What it does not do
//
// It never names a table it was not given, and checks no text: what goes into
// a Ruleset is made from typed values by l4/kernel.
//
// # Programs
//
// nft is run without a shell, by an absolute path, with an environment of its
// own, bounded in time and output; it dies with this process, so that a late
// transaction of a killed netd never lands after one of its successor.
package nft
