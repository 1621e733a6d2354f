package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"
)

func TestDataIsWhereItsOwnerMayWrite(t *testing.T) {
	for _, c := range []struct {
		root        bool
		state, home string
		want        string
	}{
		{true, "/state", "/home/a", "/var/lib/sluice"}, {false, "/state", "/home/a", "/state/sluice"}, {false, "", "/home/a", "/home/a/.local/state/sluice"}, {false, "", "", "/.local/state/sluice"},
	} {
		t.Setenv("XDG_STATE_HOME", c.state)
		t.Setenv("HOME", c.home)
		if got := defaultData(c.root); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if DefaultData() != defaultData(os.Geteuid() == 0) {
		t.Error("the default does not depend on the user")
	}
}

func TestRequestsWithoutAnAnswerAreExplained(t *testing.T) {
	local, remote := &Client{Data: "/data"}, &Client{URL: "https://a.test"}
	for _, c := range []struct {
		client *Client
		err    error
		want   string
	}{
		{local, fmt.Errorf("dial: %w", context.DeadlineExceeded), "the appliance did not respond in time"}, {remote, context.DeadlineExceeded, "the appliance did not respond in time"}, {local, context.Canceled, "interrupted"},
		{local, fmt.Errorf("dial: %w", fs.ErrPermission), "no permission for the control socket in /data: use sudo, run as the user of sluice, or use --url with a key"},
		{remote, fs.ErrPermission, "https://a.test cannot be reached: permission denied"}, {remote, fs.ErrNotExist, "https://a.test cannot be reached: file does not exist"},
		{local, errors.New("torn"), "torn"}, {local, fs.ErrNotExist, "no running sluice in /data: start it with `sluice run` or point --data to its data directory"},
	} {
		if got := c.client.explain(c.err).Error(); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
