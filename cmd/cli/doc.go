// Package cli is the command line of a running appliance. Every command consists of a few
// requests to the REST API (mgmt/api). They use the control socket in the data directory,
// where root and Sluice's user need no key, or the network with --url and a key.
//
// Commands print tables or, with --json, the unmodified API response. Exit status: 0
// success, 1 refused or failed, 2 wrong usage, 3 findings. Errors go to stderr and state the
// remedy. The program's main package adds the commands that run the appliance through Root.
package cli
