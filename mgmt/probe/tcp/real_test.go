package tcp_test

import (
	"fmt"
	"testing"

	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
	"github.com/sluicelb/sluice/mgmt/probe/tcp"
)

func TestRealFTPServerGreets(t *testing.T) {
	server, dir, port := probetest.Program(t, "vsftpd"), probetest.Dir(t), porttest.TCP(t).Port()
	config := probetest.File(t, dir, "vsftpd.conf", fmt.Sprintf("listen=YES\nlisten_address=127.0.0.1\nlisten_port=%d\nrun_as_launching_user=YES\nbackground=NO\nanonymous_enable=YES\nseccomp_sandbox=NO\nxferlog_enable=NO\n", port))
	probetest.Start(t, port, dir, server, config)
	probetest.Check(t, "check_ftp", tcp.Services()["check_ftp"], probetest.At(port), "-H", "HOST", "-p", "PORT", "-t", "5").Healthy(t)
}
