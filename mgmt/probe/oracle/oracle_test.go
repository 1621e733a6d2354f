package oracle_test

import (
	"encoding/binary"
	"net"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe/oracle"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

// packet returns a packet of a listener.
func packet(kind byte, body string) string {
	head := binary.BigEndian.AppendUint16(nil, uint16(8+len(body)))
	return string(head) + "\x00\x00" + string(kind) + "\x00\x00\x00" + body
}

func refusalPacket(code string) string {
	return packet(4, "\x22\x00\x00\x40(DESCRIPTION=(TMP=)(VSNNUM=318767104)(ERR="+code+")(ALIAS=LISTENER))")
}

func TestListenerAnswers(t *testing.T) {
	accept, resend := packet(2, strings.Repeat("\x00", 24)), packet(11, "")
	for _, c := range []struct {
		service string
		replies []string
		reason  string
	}{
		{"", []string{refusalPacket("0")}, ""},
		{"", []string{refusalPacket("12537")}, "the listener refused: ORA-12537"},
		{"orcl", []string{accept}, ""},
		{"orcl", []string{packet(5, "redirect")}, ""},
		{"orcl", []string{resend, accept}, ""},
		{"orcl", []string{resend, resend, resend}, "again and again"},
		{"orcl", []string{refusalPacket("12514")}, "ORA-12514, the listener knows no such service"},
		{"orcl", []string{refusalPacket("0")}, "ORA-0"},
		{"orcl", []string{packet(4, "nothing")}, "without a reason"},
		{"orcl", []string{packet(6, "data")}, "not that of a listener"},
		{"orcl", []string{"\x00\x02\x00\x00\x02\x00\x00\x00"}, "not that of a listener"},
		{"orcl", []string{"HTTP/1.1 400\r\n"}, "not that of a listener"},
	} {
		args := []string{"-p", "PORT"}
		if c.service != "" {
			args = append(args, "-s", c.service)
		}
		got := probetest.Check(t, "check_oracle", oracle.Check, probetest.Replies(t, "", c.replies...), args...)
		if c.reason == "" {
			got.Healthy(t)
		} else {
			got.Down(t, c.reason)
		}
	}
}

func TestRequestContainsItsLengths(t *testing.T) {
	heard := make(chan []byte, 1)
	to := probetest.Server(t, func(c net.Conn) {
		b := make([]byte, 500)
		n, _ := c.Read(b)
		heard <- b[:n]
	})
	probetest.Check(t, "check_oracle", oracle.Check, to, "-p", "PORT", "-s", "orcl.example").Down(t, "closed the connection")
	b := <-heard
	be := binary.BigEndian
	text := "(DESCRIPTION=(CONNECT_DATA=(SERVICE_NAME=orcl.example)(CID=(PROGRAM=sluice)(HOST=sluice)(USER=sluice))))"
	if int(be.Uint16(b)) != len(b) || b[4] != 1 || int(be.Uint16(b[24:])) != len(text) || string(b[be.Uint16(b[26:]):]) != text {
		t.Errorf("sent %q", b)
	}
	if got := probetest.Refused(t, "check_oracle", oracle.Check, "-s", "a)(b"); !strings.Contains(got, "is no name of a service") {
		t.Error(got)
	}
}
