package snmp_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
	"github.com/sluicelb/sluice/mgmt/probe/snmp"
)

func TestCheckWorksWithSnmpd(t *testing.T) {
	server, dir, port := probetest.Program(t, "snmpd"), probetest.Dir(t), porttest.UDP(t).Port()
	config := probetest.File(t, dir, "snmpd.conf", "rocommunity c0mm 127.0.0.1\nsysName house\n")
	run := probetest.Run(t, 0, dir, server, "-f", "-Lo", "-C", "-c", config, "-I", "-smux,-agentx", fmt.Sprintf("udp:127.0.0.1:%d", port))
	ask := func(args ...string) probetest.Asked {
		return probetest.In(t, 9e8, "check_snmp", snmp.Check, probetest.At(port), append([]string{"-p", "PORT"}, args...)...)
	}
	enginetest.Eventually(t, "snmpd to answer", func() bool { return ask("-P", "2c", "-C", "c0mm", "-o", uptime).Err == nil })
	for _, version := range []string{"1", "2c"} {
		ask("-P", version, "-C", "c0mm", "-o", name, "-s", "house").Healthy(t)
		ask("-P", version, "-C", "c0mm", "-o", "1.3.6.1.2.1.1.99.0").Down(t, "the agent")
	}
	ask("-P", "2c", "-C", "wrong", "-o", name).Down(t, "no")
	run.Suffers(t, probetest.At(port), func(within time.Duration, to probe.Target) probetest.Asked {
		return probetest.In(t, within, "check_snmp", snmp.Check, to, "-p", "PORT", "-P", "2c", "-C", "c0mm", "-o", uptime)
	})
}
