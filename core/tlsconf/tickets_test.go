package tlsconf_test

import (
	"crypto/tls"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// regular returns a client with a session cache, for TLS 1.2 or 1.3.
func regular(client *tls.Config, version uint16, now *clock) *tls.Config {
	client.MinVersion, client.MaxVersion = version, version
	client.ClientSessionCache = tls.NewLRUClientSessionCache(8)
	if now != nil {
		client.Time = now.now
	}
	return client
}

// resumes reports whether a handshake resumed a session. The handshake must succeed.
func resumes(t *testing.T, server, client *tls.Config) bool {
	t.Helper()
	o := shake(t, server, client)
	if o.failed() {
		t.Fatalf("no handshake: %v, %v", o.clientErr, o.srvErr)
	}
	return o.server.DidResume
}

func TestTicketsResumeAfterRepublishing(t *testing.T) {
	inBoth(t, func(t *testing.T, version uint16) {
		cfg, l := simple(t)
		s := tlsconf.NewStore(tlsconf.Options{})
		client := regular(anyone("www.example.com"), version, nil)
		unfit := regular(suites12("www.example.com", rsaCBC, ecdsaCBC), tls.VersionTLS12, nil) // for HTTP/2
		unfit.NextProtos = []string{"h2", "http/1.1"}
		resumes(t, publish(t, s, cfg, 1, l), unfit)
		resumes(t, publish(t, s, cfg, 1, l), client)
		// Everything except the policy changes: certificate, ciphers, groups.
		fresh, m := simple(t)
		m.Ciphers, m.Curves = farm.CiphersOffload, "X25519:P-256"
		m.DisableTLS10 = true
		if server := publish(t, s, fresh, 1, m); !resumes(t, server, unfit) || !resumes(t, server, client) {
			t.Error("a session is lost with a snapshot")
		}
	})
}

func TestTicketsAreInvalidUnderChangedSettings(t *testing.T) {
	inBoth(t, func(t *testing.T, version uint16) {
		root, key := newCA(t, "root"), p256()
		soon := time.Now().Add(time.Hour)
		cfg, l := asking(t, farm.ClientAuthOptional, root.authority(""))
		for _, c := range []struct {
			what   string
			farm   uint32
			change func(*farm.Config, *farm.TLS)
			want   bool
		}{
			{"nothing", 1, func(*farm.Config, *farm.TLS) {}, true},
			{"another farm", 2, func(*farm.Config, *farm.TLS) {}, false},
			{"required", 1, func(_ *farm.Config, l *farm.TLS) { l.Clients = farm.ClientAuthRequired }, false},
			{"off", 1, func(_ *farm.Config, l *farm.TLS) { l.Clients = farm.ClientAuthOff }, false},
			{"a CRL comes", 1, func(cfg *farm.Config, _ *farm.TLS) { cfg.Authorities[0] = root.authority("clients", root.crl(soon)) }, false},
			{"one more authority", 1, func(cfg *farm.Config, _ *farm.TLS) {
				cfg.Authorities[0].Certificates = append(cfg.Authorities[0].Certificates[:1:1], newCA(t, "b").cert.Raw)
			}, false},
		} {
			s := tlsconf.NewStore(tlsconf.Options{})
			client := regular(person(key, root.sign(key.Public())), version, nil)
			before := publish(t, s, cfg, 1, l)
			resumes(t, before, client)
			if !resumes(t, before, client) {
				t.Fatal("no session is resumed at all")
			}
			after, m := *cfg.Clone(), *l
			c.change(&after, &m)
			if got := resumes(t, publish(t, s, &after, c.farm, &m), client); got != c.want {
				t.Errorf("%s: resumed %v, want %v", c.what, got, c.want)
			}
		}
	})
}

// A session whose suite forbids HTTP/2 does not resume with HTTP/2.
func TestASessionWithoutHTTP2DoesNotGetIt(t *testing.T) {
	cfg, l := simple(t)
	server := listen(t, cfg, l)
	client := regular(suites12("www.example.com", rsaCBC, ecdsaCBC), tls.VersionTLS12, nil)
	client.NextProtos = []string{"h2", "http/1.1"}
	resumes(t, server, client)
	if !resumes(t, server, client) {
		t.Fatal("no session is resumed at all")
	}
	client.CipherSuites = append(client.CipherSuites, rsaGCM, ecdsaGCM)
	o := shake(t, server, client)
	if o.failed() || o.server.DidResume || o.server.NegotiatedProtocol != "h2" {
		t.Errorf("resumed %v, %q, %s", o.server.DidResume, o.server.NegotiatedProtocol, tls.CipherSuiteName(o.server.CipherSuite))
	}
}

func TestTicketsLiveForThreeKeys(t *testing.T) {
	inBoth(t, func(t *testing.T, version uint16) {
		for _, c := range []struct {
			after time.Duration
			want  bool
		}{
			{time.Hour, true}, {tlsconf.TicketRotation, true}, {2*tlsconf.TicketRotation - time.Minute, true},
			{2 * tlsconf.TicketRotation, true}, {3 * tlsconf.TicketRotation, false}, {10 * tlsconf.TicketRotation, false},
		} {
			now := newClock()
			cfg, l := simple(t)
			server := publish(t, tlsconf.NewStore(tlsconf.Options{Now: now.now}), cfg, 1, l)
			client := regular(anyone("www.example.com"), version, now)
			resumes(t, server, client)
			now.advance(c.after)
			if got := resumes(t, server, client); got != c.want {
				t.Errorf("after %v without a handshake: resumed %v, want %v", c.after, got, c.want)
			}
		}
	})
}

// With handshakes in every period, the third rotation makes a ticket useless.
func TestTicketsAgeWithHandshakesToo(t *testing.T) {
	now := newClock()
	cfg, l := simple(t)
	server := publish(t, tlsconf.NewStore(tlsconf.Options{Now: now.now}), cfg, 1, l)
	old := regular(anyone("www.example.com"), tls.VersionTLS13, now)
	kept := old.ClientSessionCache
	resumes(t, server, old)
	session, _ := kept.Get("www.example.com")
	for period := range 3 {
		now.advance(tlsconf.TicketRotation)
		kept.Put("www.example.com", session)
		if got := resumes(t, server, old); got != (period < 2) {
			t.Errorf("after %d rotations: resumed %v", period+1, got)
		}
	}
}

func TestRotateMakesOldTicketsUseless(t *testing.T) {
	cfg, l := simple(t)
	s := tlsconf.NewStore(tlsconf.Options{})
	tickets := s.Tickets()
	server := publish(t, s, cfg, 1, l)
	client := regular(anyone("www.example.com"), tls.VersionTLS13, nil)
	resumes(t, server, client)
	tickets.Rotate()
	if !resumes(t, server, client) {
		t.Error("one rotation makes tickets useless")
	}
	for range 3 {
		tickets.Rotate()
	}
	if resumes(t, server, client) {
		t.Error("three rotations leave a ticket useful")
	}
}

// Stores that share the master keys resume each other's sessions, as successive engines
// would.
func TestTicketsBelongToTheProcess(t *testing.T) {
	tickets := tlsconf.NewTickets(nil)
	cfg, l := simple(t)
	client := regular(anyone("www.example.com"), tls.VersionTLS13, nil)
	resumes(t, publish(t, tlsconf.NewStore(tlsconf.Options{Tickets: tickets}), cfg, 1, l), client)
	if !resumes(t, publish(t, tlsconf.NewStore(tlsconf.Options{Tickets: tickets}), cfg, 1, l), client) {
		t.Error("not resumed with the same master keys")
	}
	if resumes(t, publish(t, tlsconf.NewStore(tlsconf.Options{}), cfg, 1, l), client) {
		t.Error("resumed with other master keys")
	}
}

// Handshakes run while keys rotate and snapshots are published.
func TestRotationUnderHandshakes(t *testing.T) {
	now := newClock()
	s := tlsconf.NewStore(tlsconf.Options{Now: now.now})
	cfg, l := simple(t)
	server := publish(t, s, cfg, 1, l)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			client := regular(anyone("www.example.com"), tls.VersionTLS13, now)
			for range 15 {
				if o := shake(t, server, client); o.failed() {
					t.Errorf("%v, %v", o.clientErr, o.srvErr)
				}
			}
		})
	}
	wg.Go(func() {
		for range 20 {
			now.advance(tlsconf.TicketRotation)
			publish(t, s, cfg, 1, l)
			time.Sleep(time.Millisecond)
		}
	})
	wg.Wait()
}
