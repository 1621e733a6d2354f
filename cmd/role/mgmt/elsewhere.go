package mgmt

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/activation"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/notify"
	"github.com/sluicelb/sluice/mgmt/outbound"
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

// tell sends an event through all methods selected for it and adds it to the timeline.
func (m *manager) tell(e event.Event) {
	n := m.notify
	if n == nil || n.ToSyslog(e) { // early in the start all methods get all events
		m.toSyslog(e)
	}
	if n == nil || n.ToScripts(e) {
		m.scripts.Tell(e)
	}
	if n != nil {
		n.Hear(e)
	}
	m.noted(e)
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

// proxy returns the current proxy settings for outgoing connections.
func (m *manager) proxy() outbound.Proxy {
	cfg, _ := m.applier.Current()
	return outbound.Proxy{
		Plain:  m.proxyAddress(cfg.System.Proxy.ForHTTP, farm.SecretHTTPProxy),
		Secure: m.proxyAddress(cfg.System.Proxy.ForHTTPS, farm.SecretHTTPSProxy),
	}
}

// proxyAddress returns the address of a proxy with its password. If the password cannot be
// read, requests fail with the reason instead of bypassing the proxy.
func (m *manager) proxyAddress(p farm.ProxyServer, purpose string) string {
	at, err := p.Address(func(s farm.Secret) (string, error) { return apply.Reveal(m.certs, purpose, s) })
	switch {
	case err != nil:
		slog.Warn("the password of the proxy cannot be read: set it again", "error", err)
		return p.URL
	case at == nil:
		return ""
	}
	return at.String()
}

// notifier returns the sender of mails and webhooks.
func (m *manager) notifier(book *certs.Book) *notify.Manager {
	return notify.New(notify.Options{Store: m.store, Secrets: book, Authorities: m.authorities, Proxy: m.proxy, Tell: m.tell, Log: slog.Default()})
}

// whyDown returns why a backend is down or its checks cannot run, if known.
func (m *manager) whyDown(backend uint32) string {
	if e, is := m.health.Slot(backend).Ejection(); is && time.Now().Before(e.Until) {
		return "is ejected: " + e.Why()
	}
	if why := m.guardian.Why(backend); why != "" {
		return why
	}
	return m.watch.silent.Problem(backend)
}

// activation returns the store of the activation certificate.
func (m *manager) activation() *activation.Keeper { return &activation.Keeper{Store: m.store} }

// expiring returns the certificates with an expiry date.
func (m *manager) expiring(cfg *farm.Config) (out []notify.Certificate) {
	for _, v := range m.certs.List() {
		if v.NotAfter.IsZero() || v.CSR || v.Problem != "" {
			continue
		}
		out = append(out, notify.Certificate{Name: v.Name, Subject: v.CN, Serial: v.Fingerprint, NotAfter: v.NotAfter, UsedBy: certs.CertificateUsers(cfg, v.Name)})
	}
	if i, err := m.activation().Get(); err == nil {
		out = append(out, notify.Certificate{Name: "activation certificate", Subject: i.Hostname, Serial: i.Serial, NotAfter: i.NotAfter, Activation: true})
	}
	return out
}

// allowOutbound allows mgmt to connect to the local addresses given at the start.
func allowOutbound() error {
	list, err := outbound.ParseAllowed(os.Getenv(supervisor.OutboundAllowVariable))
	if err == nil {
		outbound.Allow(list)
	}
	return err
}
