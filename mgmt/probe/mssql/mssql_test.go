package mssql_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe/mssql"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

// answer is the answer of a server of version 16.0.4085.
const answer = "\x04\x01\x00\x1a\x00\x00\x01\x00" + "\x00\x00\x0b\x00\x06" + "\x01\x00\x11\x00\x01" + "\xff" + "\x10\x00\x0f\xf5\x00\x00" + "\x00"

func TestPreloginResponseIsParsed(t *testing.T) {
	got := probetest.Check(t, "check_mssql", mssql.Check, probetest.Replies(t, "", answer), "-p", "PORT")
	got.Healthy(t)
	if !strings.Contains(got.Said, "version 16.0.4085") {
		t.Errorf("got %s", got.Said)
	}
	for _, bad := range []string{"\x12" + answer[1:], answer[:2] + "\x00\x08" + answer[4:], answer[:2] + "\xff\xff" + answer[4:], answer[:8] + "\x00\x00\x30" + answer[11:], answer[:8] + "\xff" + answer[9:], answer[:12] + "\x05" + answer[13:], "HTTP/1.1 400 Bad Request\r\n"} {
		probetest.Check(t, "check_mssql", mssql.Check, probetest.Replies(t, "", bad), "-p", "PORT").Down(t, "not that of SQL Server")
	}
}
