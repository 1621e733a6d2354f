package rounds

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/report"
)

const wrkText = `Running 1s test @ http://127.0.0.1:9001/128
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   849.30us  210.77us   8.66ms   93.97%
    Req/Sec    75.93k     3.34k   80.24k    80.00%
  Latency Distribution
     50%  812.00us
     75%    0.89ms
     90%    1.02ms
     99%    1.44s
  75511 requests in 1.00s, 18.22MB read
`

func TestWrkOutputIsRead(t *testing.T) {
	got, err := parseWrk(wrkText, false)
	want := wrkResult{requests: 75511, seconds: 1, latency: report.Latency{P50: 812, P90: 1020, P99: 1440000}}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestWrkIgnoresRequestedCloses(t *testing.T) {
	text := wrkText + "  Socket errors: connect 1, read 75511, write 2, timeout 3\n  Non-2xx or 3xx responses: 10\n"
	for closing, want := range map[bool]uint64{true: 16, false: 75527} {
		got, err := parseWrk(text, closing)
		if err != nil || got.errors != want {
			t.Errorf("closing %v: got %d errors, want %d (%v)", closing, got.errors, want, err)
		}
	}
	if _, err := parseWrk("unable to connect to 127.0.0.1:1 Connection refused\n", false); err == nil {
		t.Error("a failed wrk was accepted")
	}
}

func TestWrkGetsTheWholeLoad(t *testing.T) {
	dir := t.TempDir()
	args, err := wrkArgs(load.Spec{
		Target: netip.MustParseAddrPort("127.0.0.1:9001"), Connections: 64, Method: "POST", Path: "/128",
		Host: "h.example", Body: 10, New: true, Duration: 1500 * time.Millisecond,
	}, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"-c64", "-d2s", "Host: h.example", "Connection: close", "http://127.0.0.1:9001/128"} {
		if !slices.Contains(args, want) {
			t.Errorf("%q is not in %q", want, args)
		}
	}
	secure, err := wrkArgs(load.Spec{
		Target: netip.MustParseAddrPort("127.0.0.1:9001"), Connections: 64, Method: "GET", Path: "/128", TLS: &load.TLS{Leaf: []byte("x")},
	}, dir)
	if err != nil || !slices.Contains(secure, "https://127.0.0.1:9001/128") {
		t.Errorf("%q, %v", secure, err)
	}
	script, err := os.ReadFile(filepath.Join(dir, "wrk.lua"))
	if err != nil || !strings.Contains(string(script), `string.rep("x", 10)`) {
		t.Errorf("script %q, %v", script, err)
	}
}
