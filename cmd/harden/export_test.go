package harden

import "golang.org/x/net/bpf"

// Filter returns the filter of a role for the process pid, as passed to the kernel.
func Filter(role string, pid int) []bpf.RawInstruction {
	f := map[string]*filter{"engine": &engineFilter, "netd": &helperFilter, "mgmt": &managerFilter, "hostd": &hostFilter, "progd": &programsFilter, "program": &programFilter}[role]
	var out []bpf.RawInstruction
	for _, i := range f.program(pid) {
		out = append(out, bpf.RawInstruction{Op: i.Code, Jt: i.Jt, Jf: i.Jf, K: i.K})
	}
	return out
}

// Internals of Landlock.
var (
	Ruleset         = ruleset
	LandlockTells   = landlockTells
	AllowEphemeral  = allowEphemeral
	RestrictThreads = restrictThreads
)
