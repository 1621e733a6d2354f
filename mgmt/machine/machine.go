// Package machine applies the settings of the machine. It makes a request for each part
// that changed, lets the supervisor execute it, and refuses invalid settings beforehand.
//
// A Machine is the apply.Machine for settings that affect files and services of the host.
// mgmt/apply calls it under its own lock.
package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"reflect"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/system"
	"github.com/sluicelb/sluice/sysnet/settings"
)

// Options holds the parameters of a Machine; all must be set.
type Options struct {
	// Request executes a request through a process with the privilege.
	Request func(ctx context.Context, kind string, request []byte) (answer []byte, err error)
	// Secrets opens the community.
	Secrets apply.Secrets
	// Prefixes returns the addresses of this machine, Listeners its listening sockets.
	Prefixes  func() []netip.Prefix
	Listeners func() ([]apply.Listener, error)
	// Keeper stores which services have not got their settings yet, for the next process.
	Keeper Keeper
	// Services reads the state of the machine.
	Services *settings.Machine
	Log      *slog.Logger
}

// Keeper stores values by name; *store.Store implements it.
type Keeper interface {
	ReadDocument(name string, into any) (found bool, err error)
	WriteDocument(name string, value any) error
}

// untoldName is the document of services that have not got their settings yet.
const untoldName = "machine.untold"

// Machine applies settings to the machine. Use New to make one.
type Machine struct {
	options Options
	// done holds the requests that were completely executed by this process.
	done map[settings.Kind]settings.Request
	// untold holds the services that have not got their settings yet.
	untold map[settings.Kind]bool
}

// New returns a new Machine. It later notifies the services that an earlier process could
// not notify of their settings.
func New(o Options) *Machine {
	m := &Machine{o, map[settings.Kind]settings.Request{}, map[settings.Kind]bool{}}
	if _, err := o.Keeper.ReadDocument(untoldName, &m.untold); err != nil || m.untold == nil {
		m.untold = map[settings.Kind]bool{} // at worst a service is not notified again
	}
	return m
}

// tell records whether a service has not got its settings yet.
func (m *Machine) tell(kind settings.Kind, untold bool) {
	if m.untold[kind] == untold {
		return
	}
	if m.untold[kind] = untold; !untold {
		delete(m.untold, kind)
	}
	if err := m.options.Keeper.WriteDocument(untoldName, m.untold); err != nil {
		m.options.Log.Warn("a restart forgets which services of the machine were not told of their settings", "error", err)
	}
}

// Check implements apply.Machine.
func (m *Machine) Check(_ context.Context, old, new *farm.System) error {
	if !reflect.DeepEqual(old.SSH, new.SSH) {
		for _, addr := range new.SSH.Listen {
			if !m.isLocal(addr) {
				return refused("ssh", "listen", "listen must hold addresses of this machine, or nobody could log in any more, got %s", addr)
			}
		}
	}
	if now := &new.SNMP; now.On && (!old.SNMP.On || old.SNMP.IP != now.IP || old.SNMP.Port != now.Port) {
		if !m.isLocal(now.EffectiveIP()) {
			return refused("snmp", "ip", "ip must be an address of this machine or *, got %s", now.EffectiveIP())
		}
		return m.checkPort(&old.SNMP, now)
	}
	return nil
}

func refused(section, name, format string, args ...any) error {
	return &field.Error{Path: system.Path(section), Field: name, Message: fmt.Sprintf(format, args...)}
}

func (m *Machine) isLocal(addr netip.Addr) bool {
	return addr.IsUnspecified() || addr.IsLoopback() || slices.ContainsFunc(m.options.Prefixes(), func(p netip.Prefix) bool { return p.Addr() == addr })
}

// checkPort refuses a UDP port that another program uses. The program behind a port is
// unknown, so the default port and the previous port of snmpd count as its own.
func (m *Machine) checkPort(old, now *farm.SNMP) error {
	port := now.EffectivePort()
	if port == farm.DefaultSNMPPort || old.On && port == old.EffectivePort() {
		return nil
	}
	list, err := m.options.Listeners()
	if err != nil {
		return nil // an unknown state is no reason to refuse
	}
	for _, l := range list {
		at := l.Addr.Addr()
		if l.UDP && l.Addr.Port() == port && (at == now.EffectiveIP() || at.IsUnspecified() || now.EffectiveIP().IsUnspecified()) {
			return refused("snmp", "port", "port must be free, got %d: another program listens on %s", port, l)
		}
	}
	return nil
}

// Settle implements apply.Machine.
func (m *Machine) Settle(ctx context.Context, s *farm.System) map[string]string {
	problems := map[string]string{}
	for _, kind := range settings.Kinds() {
		q, err := m.request(kind, s)
		if err == nil {
			err = m.settle(ctx, q)
		}
		if err != nil {
			problems[string(kind)] = err.Error()
			m.options.Log.Warn("a setting of the machine is not in force", "what", string(kind), "reason", err)
		}
	}
	return problems
}

// request returns the request for one kind of settings.
func (m *Machine) request(kind settings.Kind, s *farm.System) (q settings.Request, err error) {
	q.Kind = kind
	switch kind {
	case settings.DNS:
		q.DNS = s.DNS
	case settings.NTP:
		q.NTP = s.NTP
	case settings.SSH:
		q.SSH = s.SSH
	case settings.SNMP:
		if !s.SNMP.On {
			return q, nil
		}
		q.SNMP = settings.SNMPAgent{On: true, IP: s.SNMP.EffectiveIP(), Port: s.SNMP.EffectivePort(), Scope: s.SNMP.EffectiveScope()}
		q.SNMP.Community, err = apply.Reveal(m.options.Secrets, farm.SecretCommunity, s.SNMP.EffectiveCommunity())
	}
	return q, err
}

// settle executes a request, unless it was already executed, or nothing is set now and
// before.
func (m *Machine) settle(ctx context.Context, q settings.Request) error {
	done, before := m.done[q.Kind]
	if before && reflect.DeepEqual(done, q) {
		return nil
	}
	if reflect.DeepEqual(q, settings.Request{Kind: q.Kind}) && !m.options.Services.Holds(q.Kind) {
		m.done[q.Kind] = q
		return nil
	}
	delete(m.done, q.Kind)
	asked := q
	asked.Again = m.untold[q.Kind]
	text, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	said, err := m.options.Request(ctx, string(q.Kind), text)
	if err != nil {
		return err
	}
	var answer settings.Answer
	if err := json.Unmarshal(said, &answer); err != nil {
		return errors.New("what sets it did not say what became of it; see the log")
	}
	if m.tell(q.Kind, answer.Untold); answer.Problem != "" {
		return errors.New(answer.Problem)
	}
	m.done[q.Kind] = q
	return nil
}

var _ apply.Machine = (*Machine)(nil)
