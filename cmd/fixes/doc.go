// Command fixes reports dependencies, tools and the toolchain that are older than a
// known fix: `make lint` runs it and fails with it. It reads .ci/fixes and compares
// each line with go.mod, the Makefile, web/package-lock.json and the Go release it is
// built with. It needs no network.
//
// A line names what is fixed, the first version with the fix, the advisories and the
// reason why they concern Sluice, for example
//
//	module  golang.org/x/net  v0.61.0  GO-2026-6611,GO-2026-6617  tests drive HTTP/2 with it
//
// The kind is "go" for the toolchain, "module" for go.mod, "tool" for `go run` in the
// Makefile, or "npm" for the GUI. A module that is no longer in use makes its line
// stale, which is an error as well: the list stays as short as it can be.
package main
