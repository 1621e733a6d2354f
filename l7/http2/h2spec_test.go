package http2_test

import (
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"

	"github.com/sluicelb/sluice/l7/l7test"
)

// h2spec tests RFC 7540 and 7541 including the strict cases; its output names failures. RFC
// 9113 made priorities obsolete, but we keep the rules about the form of their frames, so
// all cases apply.
func TestConformance(t *testing.T) { conforms(t, "/") }

// Every case has the same outcome if the stream got its response before further frames
// arrived.
func TestConformanceOnStreamsThatWereJustAnswered(t *testing.T) { conforms(t, "/hasty") }

func conforms(t *testing.T, path string) {
	t.Helper()
	addr := listen(t, nil)
	host, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port)
	c := &config.Config{Host: host, Port: n, Path: path, Timeout: 2 * time.Second, MaxHeaderLen: 4000, Strict: true}
	out := l7test.CatchOutput(t)
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
