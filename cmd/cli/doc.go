// Package cli is the command line of a running appliance: every command is a
// few requests of the REST API (mgmt/api), over the local control socket in the
// data directory, where root and the user Sluice runs as need no key, or over
// the network with --url and a key.
//
// Commands print tables for people and, with --json, the API's answer as it is.
// Exit status: 0 done, 1 refused or failed, 2 wrong usage. Errors go to stderr
// and say what to do. The commands that run the appliance itself are added by
// the program's main package through Root.
package cli
