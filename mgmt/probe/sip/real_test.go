package sip_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
	"github.com/sluicelb/sluice/mgmt/probe/sip"
)

// scenario makes SIPp answer OPTIONS with a status.
const scenario = `<?xml version="1.0" encoding="UTF-8" ?>
<scenario name="options">
  <recv request="OPTIONS"/>
  <send><![CDATA[

SIP/2.0 %s
[last_Via:]
[last_From:]
[last_To:];tag=[call_number]
[last_Call-ID:]
[last_CSeq:]
Content-Length: 0

]]></send>
</scenario>
`

func TestCheckWorksWithSIPp(t *testing.T) {
	server, dir := probetest.Program(t, "sipp"), probetest.Dir(t)
	start := func(port uint16, status string) *probetest.Running {
		file := probetest.File(t, dir, fmt.Sprintf("%d.xml", port), fmt.Sprintf(scenario, status))
		return probetest.Run(t, 0, dir, server, "-sf", file, "-i", "127.0.0.1", "-p", fmt.Sprint(port), "-t", "u1", "-nostdin", "-aa")
	}
	of := func(within time.Duration, to probe.Target) probetest.Asked {
		return probetest.In(t, within, "check_sip", sip.Check, to, "-R", "HOST:PORT")
	}
	in := func(within time.Duration, port uint16) probetest.Asked { return of(within, probetest.At(port)) }
	ready, busy := porttest.UDP(t).Port(), porttest.UDP(t).Port()
	run := start(ready, "200 OK")
	enginetest.Eventually(t, "SIPp to answer", func() bool { return in(time.Second, ready).Err == nil })
	run.Suffers(t, probetest.At(ready), of)
	start(busy, "503 Service Unavailable")
	enginetest.Eventually(t, "the other to answer", func() bool { return in(time.Second, busy).Said != "" })
	in(probetest.Longest, busy).Down(t, "503")
	run.Stop()
	in(probetest.Longest, ready).Down(t, "connection refused")
}
