package mqtt_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/mqtt"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

func TestCheckWorksWithMosquitto(t *testing.T) {
	server, dir, port := probetest.Program(t, "mosquitto"), probetest.Dir(t), porttest.TCP(t).Port()
	probetest.Once(t, dir, probetest.Program(t, "mosquitto_passwd"), "-c", "-b", dir+"/hashed", "ann", "s3cret")
	config := fmt.Sprintf("listener %d 127.0.0.1\nallow_anonymous false\npassword_file %s/hashed\npersistence false\n", port, dir)
	run := probetest.Run(t, port, dir, server, "-c", probetest.File(t, dir, "conf", config))
	ask := func(args ...string) probetest.Asked {
		return probetest.Check(t, "check_mqtt", mqtt.Check, probetest.At(port), append([]string{"-p", "PORT"}, args...)...)
	}
	ask("-u", "ann", "-P", "s3cret").Healthy(t)
	ask("-u", "ann", "-P", "wrong").Down(t, "login (CONNECT): refused: not authorized")
	ask().Down(t, "login (CONNECT): refused")
	run.Suffers(t, probetest.At(port), func(within time.Duration, to probe.Target) probetest.Asked {
		return probetest.In(t, within, "check_mqtt", mqtt.Check, to, "-p", "PORT", "-u", "ann", "-P", "s3cret")
	})
}
