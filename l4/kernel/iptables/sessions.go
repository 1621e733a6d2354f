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

// errSessions is returned by all methods of Sessions.
var errSessions = errors.New("sessions of farms carried by iptables are neither listed nor changed: that needs nf_tables, which this kernel has not")

// Learned implements Filter. Sessions cannot be listed.
func (p *Filter) Learned(context.Context, *farm.Farm) ([]ctl.KernelSession, error) {
	return nil, errSessions
}

// Find implements Filter.
func (p *Filter) Find(context.Context, *farm.Farm, string) (ctl.KernelSession, bool, error) {
	return ctl.KernelSession{}, false, errSessions
}

// Learn implements Filter.
func (p *Filter) Learn(context.Context, *farm.Farm, ...ctl.KernelSession) error { return errSessions }

// Forget implements Filter.
func (p *Filter) Forget(context.Context, *farm.Farm, ...string) (bool, error) {
	return false, errSessions
}

// ForgetAll implements Filter.
func (p *Filter) ForgetAll(context.Context, *farm.Farm) error { return errSessions }

// recentSize is the file with the maximum number of clients per list, 100 by default.
const recentSize = "/sys/module/xt_recent/parameters/ip_list_tot"

// fewClients is the minimum size of a list that needs no warning.
const fewClients = 10_000

// Warnings returns readable warnings about a farm that may not work correctly.
func (p *Filter) Warnings(f *farm.Farm) []string {
	b, err := os.ReadFile(recentSize)
	n, notNumber := strconv.Atoi(strings.TrimSpace(string(b)))
	if f.L4.Persist != farm.L4PersistSrc || err != nil || notNumber != nil || n >= fewClients {
		return nil
	}
	return []string{fmt.Sprintf("persistence remembers the last %d clients of each backend only: load the kernel module xt_recent with ip_list_tot=%d for more", n, fewClients)}
}
