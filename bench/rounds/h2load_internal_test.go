package rounds

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/load"
)

// h2loadText is the output of h2load 1.52 with HAProxy 2.6.
const h2loadText = `starting benchmark...
spawning thread #0: 8 total client(s). 20000 total requests
TLS Protocol: TLSv1.3
Cipher: TLS_AES_128_GCM_SHA256
Server Temp Key: X25519 253 bits
Application protocol: h2
progress: 10% done
progress: 100% done

finished in 843.46ms, 23711.83 req/s, 3.87MB/s
requests: 20000 total, 20000 started, 20000 done, 20000 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 20000 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 3.26MB (3420240) total, 488.28KB (500000) headers (space savings 58.33%), 2.44MB (2560000) data
                     min         max         mean         sd        +/- sd
time for request:     1.74ms    108.21ms     32.27ms     19.28ms    80.99%
time for connect:     5.05ms     14.85ms      8.30ms      3.93ms    75.00%
time to 1st byte:    31.45ms     73.86ms     61.13ms     14.99ms    75.00%
req/s           :    2965.47     3007.39     2981.17       16.51    87.50%
`

// h2loadMissing is its output if every response is a 404.
const h2loadMissing = `TLS Protocol: TLSv1.3
Cipher: TLS_AES_128_GCM_SHA256
Server Temp Key: X25519 253 bits
Application protocol: h2

finished in 48.61ms, 16456.84 req/s, 1.67MB/s
requests: 800 total, 800 started, 800 done, 0 succeeded, 800 failed, 0 errored, 0 timeout
status codes: 0 2xx, 0 3xx, 800 4xx, 0 5xx
traffic: 83.05KB (85040) total, 18.75KB (19200) headers (space savings 59.32%), 50.00KB (51200) data
`

// h2loadRefused is its output without a listener. Its exit status is 0 even then.
const h2loadRefused = `starting benchmark...
spawning thread #0: 8 total client(s). 8 total requests

finished in 6.92ms, 0.00 req/s, 0B/s
requests: 8 total, 0 started, 0 done, 0 succeeded, 8 failed, 8 errored, 0 timeout
status codes: 0 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 0B (0) total, 0B (0) headers (space savings 0.00%), 0B (0) data
`

func TestH2loadOutputIsRead(t *testing.T) {
	got, err := parseH2load(h2loadText)
	want := h2loadResult{requests: 20000, right: 20000, data: 2560000, seconds: 0.84346, agreed: h2loadWanted}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if err := got.check(20000, 128); err != nil {
		t.Error(err)
	}
}

func TestH2loadMustHaveGotEveryAnswerRight(t *testing.T) {
	for name, c := range map[string]struct {
		text           string
		requests, body int
	}{
		"fewer":    {h2loadText, 20001, 128},
		"length":   {h2loadText, 20000, 127},
		"missing":  {h2loadMissing, 800, 64},
		"refused":  {h2loadRefused, 8, 128},
		"group":    {strings.Replace(h2loadText, "X25519 253 bits", "ECDH P-256 256 bits", 1), 20000, 128},
		"cipher":   {strings.Replace(h2loadText, "AES_128", "AES_256", 1), 20000, 128},
		"protocol": {strings.Replace(h2loadText, "protocol: h2", "protocol: http/1.1", 1), 20000, 128},
	} {
		r, err := parseH2load(c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if r.check(c.requests, c.body) == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := parseH2load("h2load: option requires an argument\n"); err == nil {
		t.Error("output without a result was accepted")
	}
}

func TestH2loadGetsTheWholeLoad(t *testing.T) {
	args := h2loadArgs(cases.Case{Connections: 8, Streams: 100},
		load.Spec{Target: netip.MustParseAddrPort("127.0.0.1:9001"), Host: "h.example", Path: "/128"}, 5000)
	for _, want := range []string{"-n5000", "-c8", "-m100", "--groups=X25519", "--connect-to=127.0.0.1:9001", "https://h.example/128"} {
		if !slices.Contains(args, want) {
			t.Errorf("%q is not in %q", want, args)
		}
	}
}
