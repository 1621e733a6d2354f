package memcached_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/memcached"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

func TestCheckWorksWithMemcached(t *testing.T) {
	server, port := probetest.Program(t, "memcached"), porttest.TCP(t).Port()
	run := probetest.Run(t, port, probetest.Dir(t), server, "-p", fmt.Sprint(port), "-l", "127.0.0.1", "-U", "0")
	got := probetest.Check(t, "check_memcached", memcached.Check, probetest.At(port), "-p", "PORT")
	got.Healthy(t)
	if !strings.Contains(got.Said, "VERSION 1.") {
		t.Errorf("got %s", got.Said)
	}
	run.Suffers(t, probetest.At(port), func(within time.Duration, to probe.Target) probetest.Asked {
		return probetest.In(t, within, "check_memcached", memcached.Check, to, "-p", "PORT")
	})
}
