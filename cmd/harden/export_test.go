package harden

import "golang.org/x/net/bpf"

// Filter is the filter of a role of the process pid, as the kernel gets it.
func Filter(role string, pid int) []bpf.RawInstruction {
	f := map[string]*filter{"engine": &engineFilter, "netd": &helperFilter, "mgmt": &managerFilter, "hostd": &hostFilter, "progd": &programsFilter, "program": &programFilter}[role]
	var out []bpf.RawInstruction
	for _, i := range f.program(pid) {
		out = append(out, bpf.RawInstruction{Op: i.Code, Jt: i.Jt, Jf: i.Jf, K: i.K})
	}
	return out
}

// What Landlock is asked for, and what it is asked.
var (
	Ruleset         = ruleset
	LandlockTells   = landlockTells
	AllowEphemeral  = allowEphemeral
	RestrictThreads = restrictThreads
)
