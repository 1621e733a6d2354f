// Package all knows every check that is built in. A process that runs checks calls Use
// once, when it starts; nothing is made, opened or filled before a check runs.
package all

import (
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/program"
	"github.com/sluicelb/sluice/mgmt/probe/tcp"
)

// Use has probe.Parse know all checks, and programs in the folders: program.Plugins and
// where the operator has those of his own.
func Use(folders ...string) {
	probe.Use(probe.Known{Checks: Checks(), Program: program.Folders(folders).Make})
}

// Checks are the built-in checks by name.
func Checks() map[string]probe.Make {
	all := tcp.Services()
	for name, make := range map[string]probe.Make{
		"check_tcp": tcp.Check,
		"check_udp": tcp.UDP,
		"check_tls": tcp.TLS,
	} {
		all[name] = make
	}
	return all
}
