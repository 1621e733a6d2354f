// Package nft loads packet filter rules into the kernel: complete rulesets or the
// difference of two. Each load is one atomic transaction.
//
// # The way through it
//
// A Ruleset is plain data, made by l4/kernel: sets, maps, chains and helpers of tables
// that belong to Sluice alone. Load turns one into a Batch that replaces the contents of
// those tables. Diff returns a Batch with only the differences, and DiffParts the same for
// rulesets with common parts. Runner.Apply sends a small Batch to the kernel by netlink, if it
// consists of common statements (direct.go), and passes all others to `nft -f -`. An error
// names the owner (farm) of the rejected line, so that other farms are not affected.
//
// Sets to which packets add elements (Learned) keep them across every Diff. Load restores
// elements that Runner.Carried has read.
//
// # What it does not do
//
// It accesses only the tables it is given. It does not validate text, because l4/kernel
// makes a Ruleset from typed values.
//
// # Programs
//
// nft runs without a shell, by an absolute path, with its own environment and with bounds
// on time and output. It dies with this process, so that a late transaction of a killed
// netd cannot follow one of its successor.
package nft
