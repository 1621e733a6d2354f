package memcached_test

import (
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe/memcached"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

func TestVersionIsHealthy(t *testing.T) {
	probetest.Check(t, "check_memcached", memcached.Check, probetest.Replies(t, "", "VERSION 1.6.18\r\n"), "-p", "PORT").Healthy(t)
	probetest.Check(t, "check_memcached", memcached.Check, probetest.Replies(t, "", "ERROR\r\n"), "-p", "PORT").Down(t, `answered "ERROR", wanted its VERSION`)
}
