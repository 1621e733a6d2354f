package mysql_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/mysql"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

func TestCheckWorksWithMariaDB(t *testing.T) {
	install := probetest.Program(t, "mariadb-install-db")
	dir, port := probetest.Dir(t), porttest.TCP(t).Port()
	data := filepath.Join(dir, "data")
	probetest.Once(t, dir, install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	users := probetest.File(t, dir, "users.sql", "CREATE USER 'check'@'%' IDENTIFIED BY 's3cret';\n")
	start := func(more ...string) *probetest.Running {
		return probetest.Run(t, port, dir, probetest.Program(t, "mariadbd"), append([]string{"--no-defaults", "--datadir=" + data, "--port=" + fmt.Sprint(port), "--bind-address=127.0.0.1",
			"--socket=" + filepath.Join(dir, "socket"), "--pid-file=" + filepath.Join(dir, "pid"), "--init-file=" + users, "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=16M"}, more...)...)
	}
	run := start()
	ask := func(args ...string) probetest.Asked {
		return probetest.Check(t, "check_mysql", mysql.Check, probetest.At(port), append([]string{"-P", "PORT"}, args...)...)
	}
	enginetest.Eventually(t, "MariaDB to be ready", func() bool { return ask("-u", "check", "-p", "s3cret").Err == nil })
	ask("-u", "check", "-p", "s3cret", "-d", "information_schema").Healthy(t)
	ask("-u", "check", "-p", "s3cret", "-d", "none").Down(t, "the server refused: 10")
	ask("-u", "check", "-p", "wrong").Down(t, "the server refused: 1045")
	ask("-u", "check", "-p", "wrong", "-n").Healthy(t)
	ask("-n").Healthy(t)
	ask("-u", "check", "-p", "s3cret", "-l").Down(t, "TLS")
	run.Suffers(t, probetest.At(port), func(within time.Duration, to probe.Target) probetest.Asked {
		return probetest.In(t, within, "check_mysql", mysql.Check, to, "-P", "PORT", "-u", "check", "-p", "s3cret")
	})
	run.Stop()
	ask("-n").Down(t, "connection refused")

	leaf := certstest.NewAuthority(t, "house", time.Now()).Issue("db.example")
	start("--ssl-cert="+probetest.File(t, dir, "cert", leaf.CertPEM()), "--ssl-key="+probetest.File(t, dir, "key", leaf.KeyPEM()))
	enginetest.Eventually(t, "MariaDB to be ready with TLS", func() bool { return ask("-u", "check", "-p", "s3cret", "-l").Err == nil })
	ask("-u", "check", "-p", "s3cret", "-l", "--verify").Down(t, "certificate")
	ask("-u", "check", "-p", "wrong", "-l").Down(t, "the server refused: 1045")
}
