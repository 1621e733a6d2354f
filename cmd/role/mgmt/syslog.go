package mgmt

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/syslog"
)

// collectors passes the remote syslog servers to the sender. mgmt handles this part of the
// machine settings itself.
type collectors struct {
	remote      *syslog.Remote
	authorities func(name string) ([]byte, error)
}

// Check implements apply.Machine. The validation rules check servers.
func (collectors) Check(context.Context, *farm.System, *farm.System) error { return nil }

// Settle implements apply.Machine. An unreachable server is not a problem of the setting;
// messages wait for it.
func (c collectors) Settle(_ context.Context, s *farm.System) map[string]string {
	var list []syslog.Server
	for _, server := range s.Syslog.Servers {
		one := syslog.Server{Target: syslog.Target{Protocol: syslog.Protocol(server.Protocol), Address: server.Address()}, Drop: syslog.DropOldest}
		if ca := s.Syslog.CA; ca != "" && server.Protocol == farm.SyslogTLS {
			one.Key, one.Roots = ca, func() (*x509.CertPool, error) { return poolOf(ca, c.authorities) }
		}
		list = append(list, one)
	}
	c.remote.Set(list)
	return nil
}

// poolOf returns a CA list as a pool.
func poolOf(name string, authorities func(name string) ([]byte, error)) (*x509.CertPool, error) {
	pem, err := authorities(name)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("the list of authorities " + name + " is empty")
	}
	return pool, nil
}

// authorities returns a CA list; it must not be called before mgmt is set up.
func (m *manager) authorities(name string) ([]byte, error) { return m.certs.DownloadAuthority(name) }

// logElsewhere also sends mgmt's log and the audit log to remote syslog.
func (m *manager) logElsewhere() {
	here := slog.Default()
	m.remote = syslog.NewRemote(here, nil)
	slog.SetDefault(slog.New(syslog.NewHandler(here.Handler(), m.remote, "mgmt")))
}

// toSyslog sends an event to remote syslog, or logs it locally if no server is set.
func (m *manager) toSyslog(e event.Event) {
	if m.remote.Active() {
		m.remote.Send(eventMessage(e))
		return
	}
	level := map[event.Severity]slog.Level{event.Warning: slog.LevelWarn, event.Error: slog.LevelError}[e.Severity]
	attrs := []slog.Attr{slog.String("event", string(e.Kind))}
	for _, name := range subjects {
		if value := e.Fact(strings.ToUpper(name)); value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	slog.LogAttrs(context.Background(), level, e.Text(), attrs...)
}

// subjects are the facts that identify the object of an event.
var subjects = []string{"farm", "service", "backend", "revision", "certificate", "limit"}

// eventMessage returns an event as a syslog message with its facts as structured data.
func eventMessage(e event.Event) syslog.Message {
	out := syslog.Message{Facility: syslog.Daemon, Severity: syslog.Notice, Time: e.At, ID: syslog.IDEvent, Text: string(e.Kind)}
	switch e.Severity {
	case event.Warning:
		out.Severity = syslog.Warning
	case event.Error:
		out.Severity = syslog.Error
	}
	data := syslog.Element{Name: "event", Params: []syslog.Param{{Name: "kind", Value: string(e.Kind)}, {Name: "severity", Value: string(e.Severity)}}}
	for _, fact := range e.Facts {
		name, value, _ := strings.Cut(strings.TrimPrefix(fact, "SLUICE_"), "=")
		if value == "" {
			continue
		}
		name = strings.ToLower(name)
		data.Params = append(data.Params, syslog.Param{Name: name, Value: value})
		if slices.Contains(subjects, name) {
			out.Text += " " + name + "=" + value
		}
	}
	out.Data = []syslog.Element{data}
	return out
}
