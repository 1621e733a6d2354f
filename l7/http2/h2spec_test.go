package http2_test

import (
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"
)

// h2spec tests RFC 7540 and 7541, the strict cases included; its output names
// what fails. Of the cases about priorities, which RFC 9113 made obsolete, we
// keep what is about the form of the frames, so none is left out.
func TestConformance(t *testing.T) { conforms(t, "/") }

// A stream that was answered before more of its frames came is no excuse: the
// outcome of every case is the same.
func TestConformanceOnStreamsThatWereJustAnswered(t *testing.T) { conforms(t, "/hasty") }

func conforms(t *testing.T, path string) {
	t.Helper()
	addr := listen(t, nil)
	host, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port)
	c := &config.Config{Host: host, Port: n, Path: path, Timeout: 2 * time.Second, MaxHeaderLen: 4000, Strict: true}
	out := catchOutput(t)
	passed := 0
	for _, group := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
		group.Test(c)
		passed += group.PassedCount
		if group.FailedCount > 0 || group.SkippedCount > 0 {
			t.Errorf("%s: %d failed, %d skipped", group.Name, group.FailedCount, group.SkippedCount)
		}
	}
	if passed < 146 {
		t.Errorf("only %d cases were run", passed)
	}
	if text := out(); t.Failed() {
		t.Log(text)
	}
}

// catchOutput keeps what is printed from the test's output until out is called.
func catchOutput(t *testing.T) (out func() string) {
	t.Helper()
	stdout := os.Stdout
	f, err := os.CreateTemp(t.TempDir(), "h2spec")
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout = f
	return func() string {
		os.Stdout = stdout
		b, _ := os.ReadFile(f.Name())
		_ = f.Close()
		return string(b)
	}
}
