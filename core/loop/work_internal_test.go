package loop

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"runtime"
	"slices"
	"testing"
)

// While all workers are busy jobs wait in FIFO order. Slots of taken jobs are reused,
// and the last worker ends when the queue is empty.
func TestJobsRunInOrder(t *testing.T) {
	p := pool{running: runtime.GOMAXPROCS(0)}
	var given, taken []*job
	give := func() {
		j := &job{}
		given = append(given, j)
		p.submit(j)
	}
	for range 4 {
		give()
	}
	for range 1000 { // never empty
		give()
		j := p.take()
		if taken = append(taken, j); slices.Contains(p.waiting[:cap(p.waiting)], j) {
			t.Fatal("the queue refers to a finished job while others wait")
		}
	}
	if len(p.waiting) > 16 || cap(p.waiting) > 16 {
		t.Errorf("%d places for 4 jobs", cap(p.waiting))
	}
	for j := p.take(); j != nil; j = p.take() {
		taken = append(taken, j)
	}
	if len(taken) != len(given) {
		t.Fatalf("%d of %d jobs were done", len(taken), len(given))
	}
	for i := range given {
		if taken[i] != given[i] {
			t.Fatalf("job %d was done out of order", i)
		}
	}
	if p.running != runtime.GOMAXPROCS(0)-1 || len(p.waiting) != 0 || p.next != 0 {
		t.Errorf("%d workers run, %d jobs wait", p.running, len(p.waiting)-p.next)
	}
	for i := range p.waiting[:cap(p.waiting)] {
		if p.waiting[:cap(p.waiting)][i] != nil {
			t.Fatal("the queue refers to a finished job")
		}
	}
}

func TestIdleCoroutinesAreBounded(t *testing.T) {
	l := Dry()
	defer l.stopCoroutines()
	var all []*coroutine
	for range coroutinesMost + 3 {
		all = append(all, l.coroutine())
	}
	for _, co := range all {
		l.rest(co)
	}
	if len(l.resting) != 64 {
		t.Errorf("%d rest", len(l.resting))
	}
	if l.coroutine() != all[63] || len(l.resting) != 63 {
		t.Error("resting coroutines are not reused")
	}
	l.rest(all[63])
}

// Only slow keys are used by workers.
func TestSlowKeysAreSignedByWorkers(t *testing.T) {
	for kind, want := range map[string]bool{"P-256": false, "P-384": true, "Ed25519": false, "RSA": true} {
		c := Certificate(kind)
		if got := slow(c.PrivateKey); got != want {
			t.Errorf("%s: slow: got %t, want %t", kind, got, want)
		}
		if got := anySlow([]tls.Certificate{{}, c}); got != want {
			t.Errorf("%s: one of them is slow: got %t, want %t", kind, got, want)
		}
		config := &tls.Config{Certificates: []tls.Certificate{c}}
		if Prepare(config); (config.GetCertificate != nil) != want || (config.Certificates == nil) != want || !config.DynamicRecordSizingDisabled {
			t.Errorf("%s: prepared: %+v", kind, config)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if slow(nil) || !slow(key) || !slow(crypto.PrivateKey("a stranger's")) {
		t.Error("no key is slow, or another is not")
	}
}

// Server and client choose certificates as crypto/tls does without Prepare.
func TestPrepareKeepsCertificateSelection(t *testing.T) {
	none := errors.New("no certificate to be had")
	fast, rsa := Certificate("P-256"), Certificate("RSA")
	both := []tls.Certificate{rsa, fast}
	special := Certificate("Ed25519")
	hello := func(name string, schemes ...tls.SignatureScheme) *tls.ClientHelloInfo {
		return &tls.ClientHelloInfo{
			ServerName: name, SupportedVersions: []uint16{tls.VersionTLS13}, SignatureSchemes: schemes,
			SupportedCurves: []tls.CurveID{tls.X25519}, SupportedPoints: []uint8{0},
		}
	}
	gives := func(c *tls.Certificate, err error) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c, err }
	}
	for name, test := range map[string]struct {
		get   func(*tls.ClientHelloInfo) (*tls.Certificate, error)
		list  []tls.Certificate
		hello *tls.ClientHelloInfo
		want  *tls.Certificate
		err   error
	}{
		"none at all":                   {nil, nil, hello("loop.test", tls.ECDSAWithP256AndSHA256), nil, nil},
		"by name":                       {gives(&special, nil), both, hello("loop.test", tls.ECDSAWithP256AndSHA256), &special, nil},
		"no name, and a list":           {gives(&special, nil), both, hello("", tls.ECDSAWithP256AndSHA256), &both[1], nil},
		"no name, and no list":          {gives(&special, nil), nil, hello("", tls.ECDSAWithP256AndSHA256), &special, nil},
		"a name nobody has":             {gives(nil, nil), both, hello("loop.test", tls.ECDSAWithP256AndSHA256), &both[1], nil},
		"an error":                      {gives(nil, none), both, hello("loop.test", tls.ECDSAWithP256AndSHA256), nil, none},
		"nothing, and no list":          {gives(nil, nil), nil, hello("loop.test", tls.ECDSAWithP256AndSHA256), nil, nil},
		"the first that is understood":  {nil, both, hello("loop.test", tls.PSSWithSHA256, tls.ECDSAWithP256AndSHA256), &both[0], nil},
		"the only that is understood":   {nil, both, hello("loop.test", tls.ECDSAWithP256AndSHA256), &both[1], nil},
		"the first, if none understood": {nil, both, hello("loop.test", tls.Ed25519), &both[0], nil},
	} {
		if got, err := choose(test.get, test.list, test.hello); got != test.want || err != test.err {
			t.Errorf("%s: %p, %v", name, got, err)
		}
	}
	client := func(config *tls.Config, scheme tls.SignatureScheme) *tls.Certificate {
		Prepare(config)
		got, err := config.GetClientCertificate(&tls.CertificateRequestInfo{Version: tls.VersionTLS13, SignatureSchemes: []tls.SignatureScheme{scheme}})
		if err != nil || got == nil {
			t.Fatalf("a client shows %v, %v", got, err)
		}
		return got
	}
	if got := client(&tls.Config{Certificates: both}, tls.ECDSAWithP256AndSHA256); len(got.Certificate) == 0 || &got.Certificate[0][0] != &fast.Certificate[0][0] {
		t.Error("a client shows another certificate")
	}
	if got := client(&tls.Config{Certificates: both}, tls.Ed25519); len(got.Certificate) != 0 {
		t.Error("a client shows one the server does not understand")
	}
	own := &tls.Config{Certificates: both, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &special, nil }}
	if client(own, tls.ECDSAWithP256AndSHA256) != &special {
		t.Error("a client does not use the certificate of its callback")
	}
}
