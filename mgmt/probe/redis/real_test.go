package redis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
	"github.com/sluicelb/sluice/mgmt/probe/redis"
)

func TestCheckWorksWithRedis(t *testing.T) {
	server := probetest.Program(t, "redis-server")
	dir, master, slave := probetest.Dir(t), porttest.TCP(t).Port(), porttest.TCP(t).Port()
	start := func(port uint16, more ...string) *probetest.Running {
		return probetest.Run(t, port, dir, server, append([]string{"--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--requirepass", "s3cret"}, more...)...)
	}
	run := start(master)
	start(slave, "--replicaof", "127.0.0.1", fmt.Sprint(master), "--masterauth", "s3cret")
	ask := func(port uint16, args ...string) probetest.Asked {
		return probetest.Check(t, "check_redis", redis.Check, probetest.At(port), append([]string{"-h", "HOST", "-p", "PORT"}, args...)...)
	}
	enginetest.Eventually(t, "Redis to be ready", func() bool { return ask(master, "-a", "s3cret").Err == nil })
	ask(master).Down(t, "NOAUTH")
	ask(master, "-a", "wrong").Down(t, "WRONGPASS")
	ask(master, "-u", "default", "-a", "s3cret").Healthy(t)
	ask(slave, "-a", "s3cret").Down(t, "the server is a slave, wanted a master")
	ask(slave, "-a", "s3cret", "--role", "slave").Healthy(t)
	run.Suffers(t, probetest.At(master), func(within time.Duration, to probe.Target) probetest.Asked {
		return probetest.In(t, within, "check_redis", redis.Check, to, "-p", "PORT", "-a", "s3cret")
	})
}
