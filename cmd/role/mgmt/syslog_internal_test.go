package mgmt

import (
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/notify"
	"github.com/sluicelb/sluice/mgmt/notify/mail/mailtest"
	"github.com/sluicelb/sluice/mgmt/syslog"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// collector is a syslog server over UDP.
func collector(t *testing.T) (farm.SyslogServer, func(want string) string) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	port := c.LocalAddr().(*net.UDPAddr).Port
	return farm.SyslogServer{Protocol: farm.SyslogUDP, Host: "127.0.0.1", Port: uint16(port)}, func(want string) string {
		t.Helper()
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		buf := make([]byte, 64<<10)
		for {
			n, _, err := c.ReadFrom(buf)
			if err != nil {
				t.Fatalf("%q did not come: %v", want, err)
			}
			if strings.Contains(string(buf[:n]), want) {
				return string(buf[:n])
			}
		}
	}
}

func (h *house) system(t *testing.T, edit func(*farm.System)) {
	t.Helper()
	if _, err := h.applier.Change(t.Context(), apply.Author{Name: "root"}, "test", 0, func(cfg *farm.Config) error { edit(&cfg.System); return nil }); err != nil {
		t.Fatal(err)
	}
}

func TestMessagesGoToTheServersThatAreSet(t *testing.T) {
	h := newHouse(t, nil)
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	h.logElsewhere()
	t.Cleanup(h.remote.Close)
	h.applier = apply.New(h.store, &h.engine, apply.WithMachine(collectors{h.remote, h.authorities}))
	server, next := collector(t)
	h.tell(event.Event{Kind: event.FarmStop, Facts: []string{"SLUICE_FARM=gone"}}) // without a listener
	h.system(t, func(s *farm.System) { s.Syslog.Servers = []farm.SyslogServer{server} })
	slog.Warn("something happened", "farm", "shop")
	if got := next("something happened"); !strings.HasPrefix(got, "<28>1 ") || !strings.Contains(got, `log [sluice@32473 role="mgmt"] something happened farm=shop`) {
		t.Errorf("%s", got)
	}
	h.tell(event.Event{Kind: event.BackendDown, Severity: event.Warning, Facts: []string{"SLUICE_FARM=shop", "SLUICE_BACKEND=10.0.0.1", "SLUICE_SERVICE="}})
	if got := next("backend-down"); !strings.HasPrefix(got, "<28>1 ") || !strings.HasSuffix(got, `event [event@32473 kind="backend-down" severity="warning" farm="shop" backend="10.0.0.1"] backend-down farm=shop backend=10.0.0.1`) {
		t.Errorf("%s", got)
	}
	h.system(t, func(s *farm.System) { s.Syslog.Servers = nil })
	if h.remote.Active() || !h.log.Has("no messages go to a syslog server any more") {
		t.Error("messages are still sent")
	}
}

func TestAServerIsVerifiedByItsListOrNotAtAllTrusted(t *testing.T) {
	h := newHouse(t, nil)
	c := collectors{h.remote, h.authorities}
	s := farm.System{Syslog: farm.Syslog{CA: "missing", Servers: []farm.SyslogServer{{Protocol: farm.SyslogTLS, Host: "127.0.0.1"}, {Protocol: farm.SyslogTCP, Host: "127.0.0.1", Port: 1}}}}
	if problems := c.Settle(t.Context(), &s); len(problems) > 0 || c.Check(t.Context(), nil, nil) != nil {
		t.Error(problems)
	}
	if stats := h.remote.Stats(); len(stats) != 2 || stats[0].Target != "tls://127.0.0.1:6514" || stats[1].Target != "tcp://127.0.0.1:1" {
		t.Errorf("%+v", stats)
	}
	s.Syslog.Servers[0].Port = mute(t)
	_ = c.Settle(t.Context(), &s)
	h.remote.Send(syslog.Message{Text: "x"})
	enginetest.Eventually(t, "the list is asked for", func() bool { return strings.Contains(h.remote.Stats()[0].LastError, "missing") })
	if _, err := poolOf("missing", h.authorities); err == nil {
		t.Error("a list that is missing verifies")
	}
	if _, err := poolOf("empty", func(string) ([]byte, error) { return nil, nil }); err == nil {
		t.Error("an empty list is accepted")
	}
}

// mute returns the port of a silent server.
func mute(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

func TestConnectionsGoThroughTheProxyThatIsSet(t *testing.T) {
	h := newHouse(t, nil)
	if p := h.proxy(); p.Plain != "" || p.Secure != "" {
		t.Errorf("%+v", p)
	}
	h.system(t, func(s *farm.System) {
		s.Proxy.ForHTTP.URL = "http://plain:3128"
		s.Proxy.ForHTTPS = farm.ProxyServer{URL: "http://ann@secure:3128", Password: "p@ss"}
	})
	if p := h.proxy(); p.Plain != "http://plain:3128" || p.Secure != "http://ann:p%40ss@secure:3128" {
		t.Errorf("%+v", p)
	}
	if got := h.proxyAddress(farm.ProxyServer{URL: "http://ann@secure:3128", Password: farm.NewSealedSecret("foreign")}, farm.SecretHTTPProxy); got != "http://ann@secure:3128" {
		t.Errorf("without its password it is %q", got)
	}
}

func TestOperatorsAreMailedOfBackends(t *testing.T) {
	var asks heard[ctl.FarmKeys]
	h := newHouse(t, ctl.Parts{ctl.OpInputDropped: asks.about})
	server := mailtest.New(t, mailtest.Options{})
	var seconds atomic.Int64
	begun, none := time.Now(), 0
	h.notify = notify.New(notify.Options{Store: h.store, Secrets: h.certs, Now: func() time.Time { return begun.Add(time.Duration(seconds.Add(1)) * time.Second) }})
	t.Cleanup(h.notify.Close)
	err := h.notify.Change(apply.Author{}, "test", func(s *notify.Settings) error {
		s.Email = notify.Email{Server: net.JoinHostPort(server.Host, strconv.Itoa(server.Port)), From: "lb@example.com", To: []string{"ops@example.com"}}
		s.Backends.AvoidFlapping = &none
		return nil
	}, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	h.give(t, carried()...)
	h.watch.look(t.Context(), h.manager)
	cfg, _ := h.applier.Current()
	id := cfg.Farms[0].Groups()[0].Backends()[1].ID
	h.health.SetPassive(id, health.Down, time.Now())
	enginetest.Eventually(t, "the mail comes", func() bool {
		h.watch.look(t.Context(), h.manager)
		return len(server.Mails()) > 0
	})
	if _, subject, text := server.Mails()[0].Parsed(t); !strings.Contains(subject, "of farm shop is down") || !strings.Contains(text, "backend 1") {
		t.Errorf("%s: %s", subject, text)
	}
	if h.whyDown(id) != "" {
		t.Errorf("it is %s", h.whyDown(id))
	}
	h.health.Eject(id, health.CauseTimeout, time.Now(), time.Hour)
	if h.whyDown(id) != "is ejected: failures in a row, the last one: no answer in time" {
		t.Errorf("it is %s", h.whyDown(id))
	}
}

func TestCertificatesOfAllKindsAreToldOf(t *testing.T) {
	h := newHouse(t, nil)
	if list := h.expiring(&farm.Config{}); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	ca := certstest.NewAuthority(t, "vendor", time.Now())
	if _, err := h.activation().Put([]byte(ca.Issue("lb1").CertPEM()), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	h.certs = certs.NewManager(h.certs.Book, h.applier)
	if _, _, err := h.certs.Upload(t.Context(), apply.Author{Name: "root"}, "shop", []byte(ca.Issue("www.example.com").FullPEM()), certs.Create); err != nil {
		t.Fatal(err)
	}
	list := h.expiring(&farm.Config{})
	if len(list) != 2 || list[0].Name != "shop.pem" || list[0].Serial == "" || list[1].Name != "activation certificate" || list[1].NotAfter.IsZero() {
		t.Errorf("%+v", list)
	}
}
