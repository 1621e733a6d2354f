package mysql_test

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe/mysql"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

// Memory for a packet is allocated before it arrives. The length in a packet must not let
// all checks together allocate that much.
func TestOversizedPacketsAreNotAwaited(t *testing.T) {
	for _, flags := range [][]string{{"-n"}, {"-n", "-l"}} {
		ask := func(greeting string) probetest.Asked {
			return probetest.Check(t, "check_mysql", mysql.Check, probetest.Replies(t, greeting), append(flags, "-P", "PORT", "-t", "5")...)
		}
		ask("\xff\xff\xfe\x00").Down(t, "greeting: the answer is not that of MySQL")
		ask("\x01\x00\x01\x00").Down(t, "greeting: the answer is not that of MySQL")
		ask("\xff\xff\x00\x00\x0a"+strings.Repeat("x", 0xfffe)).Down(t, "greeting: the server sends more than a check takes") // in total
	}
}

func TestClosedConnectionIsReported(t *testing.T) {
	for _, greeting := range []string{"", "\x10\x00\x00\x00\x0a"} {
		to := probetest.Server(t, func(c net.Conn) { _, _ = io.WriteString(c, greeting) })
		probetest.Check(t, "check_mysql", mysql.Check, to, "-n", "-P", "PORT").Down(t, "the server closed the connection")
	}
}
