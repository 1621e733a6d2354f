package postgres_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/postgres"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

func TestCheckWorksWithPostgreSQL(t *testing.T) {
	initdb := probetest.Program(t, "initdb", "/usr/lib/postgresql/*/bin/initdb")
	dir, port := probetest.Dir(t), porttest.TCP(t).Port()
	data := filepath.Join(dir, "data")
	probetest.Once(t, dir, initdb, "-D", data, "-N", "--locale=C", "-U", "check", "--auth=scram-sha-256", "--pwfile="+probetest.File(t, dir, "password", "s3cret\n"))
	server := probetest.Program(t, "postgres", "/usr/lib/postgresql/*/bin/postgres")
	args := []string{"-D", data, "-p", fmt.Sprint(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=" + dir, "-c", "fsync=off"}
	run := probetest.Run(t, port, dir, server, args...)
	ask := func(args ...string) probetest.Asked {
		return probetest.Check(t, "check_pgsql", postgres.Check, probetest.At(port), append([]string{"-P", "PORT", "-l", "check"}, args...)...)
	}
	enginetest.Eventually(t, "PostgreSQL to be ready", func() bool { return ask("-p", "s3cret").Err == nil })
	ask("-p", "s3cret", "-d", "postgres", "--role", "primary").Healthy(t)
	ask("-p", "s3cret", "--role", "standby").Down(t, "the server is a primary, wanted a standby")
	ask("-p", "s3cret", "-q", "SELECT 42", "-W", "40:50", "-C", "100").Healthy(t)
	ask("-p", "s3cret", "-q", "SELECT 42", "-W", "40").Down(t, "the value of the query is 42, wanted 40")
	ask("-p", "s3cret", "-q", "SELECT 'x'", "-W", "40").Down(t, "which is no number")
	ask("-p", "s3cret", "-q", "CREATE TABLE t()").Down(t, "read-only transaction")
	ask("-p", "s3cret", "-q", "SELECT").Down(t, "there is no value")
	ask("-p", "s3cret", "-d", "none").Down(t, `the server refused: 3D000 database "none" does not exist`)
	ask("-p", "wrong").Down(t, "the server refused: 28P01")
	ask("-p", "wrong", "--ignore-auth").Healthy(t)
	ask("-p", "s3cret", "-S").Down(t, "refused TLS")
	run.Suffers(t, probetest.At(port), func(within time.Duration, to probe.Target) probetest.Asked {
		return probetest.In(t, within, "check_pgsql", postgres.Check, to, "-P", "PORT", "-l", "check", "-p", "s3cret")
	})
	run.Stop()
	ask("-p", "s3cret").Down(t, "connection refused")
}
