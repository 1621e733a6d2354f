package iptables

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// errSessions is the answer to whoever asks for sessions.
var errSessions = errors.New("sessions of farms carried by iptables are neither listed nor changed: that needs nf_tables, which this kernel has not")

// Learned are no sessions that can be listed.
func (p *Filter) Learned(context.Context, *farm.Farm) ([]ctl.KernelSession, error) {
	return nil, errSessions
}

// Find finds none.
func (p *Filter) Find(context.Context, *farm.Farm, string) (ctl.KernelSession, bool, error) {
	return ctl.KernelSession{}, false, errSessions
}

// Learn takes none.
func (p *Filter) Learn(context.Context, *farm.Farm, ...ctl.KernelSession) error { return errSessions }

// Forget forgets none.
func (p *Filter) Forget(context.Context, *farm.Farm, ...string) (bool, error) {
	return false, errSessions
}

// ForgetAll forgets none.
func (p *Filter) ForgetAll(context.Context, *farm.Farm) error { return errSessions }

// recentSize is where the kernel says how many clients a list of persistence
// holds, which is 100 unless its module was loaded otherwise.
const recentSize = "/sys/module/xt_recent/parameters/ip_list_tot"

// fewClients is how many clients of a backend persistence ought to know.
const fewClients = 10_000

// Warnings are what keeps the farm from working as it should, in sentences for
// people.
func (p *Filter) Warnings(f *farm.Farm) []string {
	b, err := os.ReadFile(recentSize)
	n, notNumber := strconv.Atoi(strings.TrimSpace(string(b)))
	if f.L4.Persist != farm.L4PersistSrc || err != nil || notNumber != nil || n >= fewClients {
		return nil
	}
	return []string{fmt.Sprintf("persistence remembers the last %d clients of each backend only: load the kernel module xt_recent with ip_list_tot=%d for more", n, fewClients)}
}
