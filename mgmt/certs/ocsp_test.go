package certs_test

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

// stapling is a house with a farm whose certificate has a responder.
type stapling struct {
	*house
	responder *certstest.Responder
	leaf      *certstest.Authority
}

const life = 7 * 24 * time.Hour

func newStapling(t *testing.T) *stapling {
	h := newHouse(t)
	mid := h.root.Intermediate("mid")
	s := &stapling{house: h, responder: certstest.NewResponder(t)}
	s.responder.Authority, s.responder.ThisUpdate, s.responder.NextUpdate = mid, now.Add(-time.Hour), now.Add(life-time.Hour)
	s.leaf = mid.Issue("shop.example", func(c *x509.Certificate) {
		c.OCSPServer = []string{s.responder.URL()}
		feature, _ := asn1.Marshal([]int{5})
		c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 24}, Value: feature}}
	})
	h.upload("shop", s.leaf.FullPEM(), certs.Create)
	h.must(h.SetOCSP(by, certs.OCSPSettings{Enabled: true, PrivateResponders: true}))
	return s
}

func (s *stapling) use() {
	s.must(s.https("shop", 443, farm.TLS{Certificates: []string{"shop.pem"}}))
}

func (s *stapling) answers(change func(*certstest.Responder)) {
	s.responder.Lock()
	defer s.responder.Unlock()
	change(s.responder)
}

func (s *stapling) stapled() bool { return len(s.inForce("shop.pem").Staple) > 0 }

func (s *stapling) view() certs.View {
	v, err := s.Get("shop.pem")
	s.must(err)
	return v
}

func TestAStapleIsFetchedKeptAndRefreshedBeforeHalfItsLife(t *testing.T) {
	s := newStapling(t)
	s.Look(t.Context())
	if s.responder.Asked() != 0 {
		t.Error("request for an unused certificate")
	}
	s.use()
	stopped := func(is bool) func(*farm.Config) error {
		return func(cfg *farm.Config) error { cfg.Farms[0].Stopped = is; return nil }
	}
	s.must(s.change(stopped(true)))
	s.Look(t.Context())
	if s.responder.Asked() != 0 {
		t.Error("request for a certificate of a stopped farm")
	}
	s.must(s.change(stopped(false)))
	s.Look(t.Context())
	if s.responder.Asked() != 1 || !s.stapled() {
		t.Fatalf("%d requests, stapled %v\n%s", s.responder.Asked(), s.stapled(), s.log)
	}
	if r, err := ocsp.ParseResponse(s.inForce("shop.pem").Staple, s.responder.Authority.Cert); err != nil || r.Status != ocsp.Good {
		t.Errorf("the staple: %v", err)
	}
	if v := s.view(); !v.OCSP.Stapled || !v.OCSP.NextUpdate.Equal(now.Add(life-time.Hour)) || v.OCSP.Problem != "" || !v.MustStaple || v.OCSP.Responder != s.responder.URL() {
		t.Errorf("%+v", v)
	}
	published := s.pub.Published()
	s.pass(life/2 - life/10 - 2*time.Hour) // before the earliest time
	s.Look(t.Context())
	if s.responder.Asked() != 1 || s.pub.Published() != published {
		t.Error("the next request came too early")
	}
	s.open() // it is stored
	if !s.stapled() {
		t.Error("the staple was not kept")
	}
	s.Look(t.Context())
	if s.responder.Asked() != 1 {
		t.Error("the next request after a start came too early")
	}
	s.pass(life/10 + time.Hour) // past half of its lifetime
	s.answers(func(r *certstest.Responder) { r.ThisUpdate, r.NextUpdate = s.now(), s.now().Add(life) })
	s.Look(t.Context())
	if s.responder.Asked() != 2 || !s.view().OCSP.NextUpdate.Equal(s.now().Add(life)) {
		t.Errorf("%d requests, until %v", s.responder.Asked(), s.view().OCSP.NextUpdate)
	}
}

func TestFailuresAreShownAndTriedLessAndLessOften(t *testing.T) {
	s := newStapling(t)
	s.use()
	s.answers(func(r *certstest.Responder) {
		r.Answer = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) }
	})
	asked := 0
	for range 6 * 60 { // six hours, checked every minute
		s.Look(t.Context())
		s.pass(time.Minute)
	}
	if asked = s.responder.Asked(); asked < 9 || asked > 16 {
		t.Errorf("%d requests in six hours", asked)
	}
	if v := s.view(); !strings.Contains(v.OCSP.Problem, "status 503") || v.OCSP.Retry.IsZero() || v.OCSP.Stapled || v.Status != certs.StatusValid {
		t.Errorf("%+v", v)
	}
	if !strings.Contains(s.log.String(), `level=WARN msg="no OCSP response for a certificate" name=shop.pem error="`) || !strings.Contains(s.log.String(), "must_staple=true stapled=false") {
		t.Errorf("log:\n%s", s.log)
	}
	s.answers(func(r *certstest.Responder) { r.Answer = nil })
	s.pass(time.Hour)
	s.Look(t.Context())
	if v := s.view(); v.OCSP.Problem != "" || !s.stapled() {
		t.Errorf("after it answered again: %+v", v)
	}
}

func TestExpiredStapleIsRemoved(t *testing.T) {
	s := newStapling(t)
	s.use()
	s.Look(t.Context())
	s.answers(func(r *certstest.Responder) {
		r.Answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }
	})
	s.pass(life - 2*time.Hour)
	s.Look(t.Context())
	if !s.stapled() {
		t.Error("it was valid for another hour")
	}
	s.pass(2 * time.Hour)
	s.Look(t.Context())
	if s.stapled() || s.view().OCSP.Stapled {
		t.Error("an outdated response is stapled")
	}
}

func TestInvalidResponsesAreNotStapled(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*stapling, *certstest.Responder)
		says   string
	}{
		"unknown":      {func(_ *stapling, r *certstest.Responder) { r.Status = ocsp.Unknown }, "does not know"},
		"outdated":     {func(_ *stapling, r *certstest.Responder) { r.NextUpdate = now }, "was valid until"},
		"future":       {func(_ *stapling, r *certstest.Responder) { r.ThisUpdate = now.Add(6 * time.Minute) }, "of the future"},
		"other signer": {func(s *stapling, r *certstest.Responder) { r.Authority = s.root }, "signature"},
		"not for OCSP": {func(s *stapling, r *certstest.Responder) { r.Authority = r.Authority.Issue("delegate") }, "not for OCSP"},
		"expired delegate": {func(_ *stapling, r *certstest.Responder) {
			r.Authority = r.Authority.Issue("delegate", func(c *x509.Certificate) {
				c.ExtKeyUsage, c.NotAfter = []x509.ExtKeyUsage{x509.ExtKeyUsageOCSPSigning}, now
			})
		}, "has expired"},
		"rubbish": {func(_ *stapling, r *certstest.Responder) {
			r.Answer = func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) }
		}, "asn1"},
		"as long as is read": {func(_ *stapling, r *certstest.Responder) {
			r.Answer = func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 64<<10)) }
		}, "asn1"},
		"too long": {func(_ *stapling, r *certstest.Responder) {
			r.Answer = func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 64<<10+1)) }
		}, "more than 65536 bytes"},
		"endless": {func(_ *stapling, r *certstest.Responder) {
			r.Answer = func(w http.ResponseWriter, _ *http.Request) {
				for range 100 {
					w.Write(make([]byte, 64<<10))
				}
			}
		}, "more than 65536 bytes"},
		"redirect loop": {func(_ *stapling, r *certstest.Responder) {
			r.Answer = func(w http.ResponseWriter, req *http.Request) {
				http.Redirect(w, req, "/again", http.StatusTemporaryRedirect)
			}
		}, "more than 3 redirects"},
		"redirect to a file": {func(_ *stapling, r *certstest.Responder) {
			r.Answer = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "file:///etc/passwd")
				w.WriteHeader(307)
			}
		}, "not one that is asked"},
	} {
		s := newStapling(t)
		s.use()
		s.answers(func(r *certstest.Responder) { c.change(s, r) })
		s.Look(t.Context())
		if v := s.view(); s.stapled() || !strings.Contains(v.OCSP.Problem, c.says) {
			t.Errorf("%s: stapled %v, problem %q", name, s.stapled(), v.OCSP.Problem)
		}
	}
}

func TestValidResponsesAreStapled(t *testing.T) {
	for name, change := range map[string]func(*certstest.Responder){
		"delegate of the issuer": func(r *certstest.Responder) {
			r.Authority = r.Authority.Issue("delegate", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageOCSPSigning} })
		},
		"a clock that is ahead": func(r *certstest.Responder) { r.ThisUpdate = now.Add(5 * time.Minute) },
		"without an end":        func(r *certstest.Responder) { r.NextUpdate = time.Time{} },
		"after three redirects": func(r *certstest.Responder) {
			redirects := 0
			r.Answer = func(w http.ResponseWriter, req *http.Request) {
				if redirects++; redirects == 3 {
					r.Answer = nil
				}
				http.Redirect(w, req, "/again", http.StatusTemporaryRedirect)
			}
		},
	} {
		s := newStapling(t)
		s.use()
		s.answers(change)
		s.Look(t.Context())
		if !s.stapled() {
			t.Errorf("%s: %+v", name, s.view().OCSP)
		}
	}
}

func TestFirstTwoRespondersAreTried(t *testing.T) {
	s := newStapling(t)
	broken := certstest.NewResponder(t)
	broken.Answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }
	for name, c := range map[string]struct {
		servers []string
		want    bool
	}{
		"second.pem":  {[]string{broken.URL(), s.responder.URL()}, true},
		"unasked.pem": {[]string{"ldap" + s.responder.URL()[4:]}, false},
		"third.pem":   {[]string{broken.URL(), broken.URL(), s.responder.URL()}, false},
	} {
		s.upload(name, s.responder.Authority.Issue("shop.example", func(x *x509.Certificate) { x.OCSPServer = c.servers }).FullPEM(), certs.Create)
		s.must(s.https(name[:5], uint16(len(name)), farm.TLS{Certificates: []string{name}}))
		s.Look(t.Context())
		if got := len(s.inForce(name).Staple) > 0; got != c.want {
			t.Errorf("%s: stapled %v, want %v", name, got, c.want)
		}
	}
}

// A responder often has several replicas, and some may lag behind.
func TestAnOlderResponseDoesNotReplaceANewerOne(t *testing.T) {
	s := newStapling(t)
	s.use()
	s.Look(t.Context())
	newest := s.inForce("shop.pem").Staple
	s.pass(life / 2)
	s.answers(func(r *certstest.Responder) { r.ThisUpdate, r.NextUpdate = now.Add(-2*time.Hour), now.Add(2*life) })
	s.Look(t.Context())
	if s.responder.Asked() != 2 || !bytes.Equal(s.inForce("shop.pem").Staple, newest) {
		t.Errorf("%d requests, until %v", s.responder.Asked(), s.view().OCSP.NextUpdate)
	}
}

func TestARevokedCertificateIsCalledInvalid(t *testing.T) {
	s := newStapling(t)
	s.use()
	s.Look(t.Context())
	s.answers(func(r *certstest.Responder) {
		r.Status, r.ThisUpdate, r.NextUpdate = ocsp.Revoked, now.Add(life/2), now.Add(2*life)
	})
	s.pass(life / 2)
	s.Look(t.Context())
	if v := s.view(); v.Status != certs.StatusInvalid || !strings.Contains(v.Problem, "revoked on 2026-01-05") || s.stapled() {
		t.Errorf("%s %q stapled %v", v.Status, v.Problem, s.stapled())
	}
	for _, v := range s.List() {
		if v.Status != certs.StatusInvalid {
			t.Errorf("the list has %s, want %s", v.Status, certs.StatusInvalid)
		}
	}
	if !strings.Contains(s.log.String(), `level=ERROR msg="no OCSP response`) {
		t.Errorf("log:\n%s", s.log)
	}
	if s.inForce("shop.pem") == nil {
		t.Error("the farm lost its certificate: that is for the operator to decide")
	}
}

func TestPrivateRespondersNeedASwitch(t *testing.T) {
	s := newStapling(t)
	s.use()
	s.must(s.SetOCSP(by, certs.OCSPSettings{Enabled: true}))
	if !strings.Contains(s.log.String(), `msg="OCSP settings changed" name=ocsp by=root source=cli enabled=true private_responders=false`) {
		t.Errorf("log:\n%s", s.log)
	}
	s.Look(t.Context())
	if v := s.view(); s.responder.Asked() != 0 || !strings.Contains(v.OCSP.Problem, "127.0.0.1 is a private address") || !strings.Contains(v.OCSP.Problem, "private_responders") {
		t.Errorf("%d requests, %q", s.responder.Asked(), v.OCSP.Problem)
	}
	s.must(s.SetOCSP(by, certs.OCSPSettings{PrivateResponders: true}))
	s.Look(t.Context())
	if s.responder.Asked() != 0 {
		t.Error("request although it is switched off")
	}
	s.must(s.SetOCSP(by, certs.OCSPSettings{Enabled: true, PrivateResponders: true}))
	s.Look(t.Context())
	if !s.stapled() {
		t.Error("no immediate request after the switch")
	}
	s.must(s.SetOCSP(by, certs.OCSPSettings{PrivateResponders: true}))
	s.Look(t.Context())
	if s.stapled() {
		t.Error("stapled although it is switched off")
	}
	s.open()
	if got := s.OCSP(); got != (certs.OCSPSettings{PrivateResponders: true}) {
		t.Errorf("after a start: %+v", got)
	}
}

func TestARefusedStapleLeavesTheOldOne(t *testing.T) {
	s := newStapling(t)
	s.use()
	s.refusing("bad staple")
	s.Look(t.Context())
	if v := s.view(); s.stapled() || v.OCSP.Stapled || v.OCSP.Problem == "" {
		t.Errorf("%+v", v.OCSP)
	}
	s.refusing("")
	s.pass(2 * time.Minute)
	s.Look(t.Context())
	if !s.stapled() {
		t.Error("not tried again")
	}
}

func TestStapleBelongsToItsCertificate(t *testing.T) {
	s := newStapling(t)
	s.use()
	s.Look(t.Context())
	s.upload("shop", s.leaf.FullPEM(), certs.Replace) // the same certificate
	if !s.stapled() {
		t.Error("the same certificate lost its staple")
	}
	all, err := s.store.Certificates()
	s.must(err)
	all[0].Staple = []byte("no response")
	s.must(s.store.ChangeCertificates(all))
	s.open()
	if s.stapled() {
		t.Error("an invalid response is sent")
	}
	s.upload("shop", s.root.Issue("shop.example").FullPEM(), certs.Replace)
	if s.stapled() {
		t.Error("the staple of another certificate is sent")
	}
	asked := s.responder.Asked()
	s.Look(t.Context())
	if s.responder.Asked() != asked {
		t.Error("request for a certificate without a responder")
	}
}

func TestExpiryIsWarnedOfAtItsDays(t *testing.T) {
	h := newHouse(t)
	h.upload("shop", h.root.Issue("shop.example").FullPEM(), certs.Create) // 90 days
	h.must(h.https("shop", 443, farm.TLS{Certificates: []string{"shop.pem"}}))
	var warned []string
	for day := range 94 {
		for range 3 { // checking more than once a day changes nothing
			h.Look(t.Context())
		}
		lines := strings.Count(h.log.String(), "certificate is about to expire") + strings.Count(h.log.String(), "certificate has expired")
		for len(warned) < lines {
			warned = append(warned, time.Duration(90-day).String())
		}
		h.pass(24 * time.Hour)
	}
	if got := strings.Join(warned, " "); got != "30ns 15ns 7ns 1ns 0s -1ns -2ns -3ns" {
		t.Errorf("warned at %s days left", got)
	}
	if log := h.log.String(); !strings.Contains(log, `level=WARN msg="certificate is about to expire" name=shop.pem subject=shop.example days_left=30 expires=2026-04-02 used_by="farm shop"`) {
		t.Errorf("log:\n%s", log)
	}
}

func TestRunChecksAtOnceAfterAnUpload(t *testing.T) {
	s := newStapling(t)
	s.use()
	ended := make(chan struct{})
	stop := make(chan struct{})
	ctx, cancel := contextUntil(stop)
	defer cancel()
	go func() { s.Run(ctx); close(ended) }()
	for deadline := time.Now().Add(5 * time.Second); !s.stapled(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no staple")
		}
	}
	close(stop)
	<-ended
}
