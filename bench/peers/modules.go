package peers

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
)

// streamModule is the path of nginx's stream module in Debian's package
// libnginx-mod-stream.
const streamModule = "/usr/lib/nginx/modules/ngx_stream_module.so"

// Modules returns the path of nginx's stream module, or "" if it is built in.
func (Setup) Modules() string {
	if _, err := os.Stat(streamModule); err != nil {
		return ""
	}
	return streamModule
}

// CheckRelay returns an error if the contestant is an nginx without the stream module,
// which relays nothing. It costs one start of the program, so that a run does not find out
// after twenty minutes.
func (c Contestant) CheckRelay() error {
	if c.Kind != Nginx || (Setup{}).Modules() != "" {
		return nil
	}
	text, err := exec.Command(c.Path, "-V").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %s -V: %w", c.Name, c.Path, err)
	}
	if builtWithStream(text) {
		return nil
	}
	return fmt.Errorf("%s: %w: the stream module (install it with `bench/install.sh`, or leave nginx out with -peers)", c.Name, ErrMissing)
}

// builtWithStream reports whether nginx -V names the stream module as built in, not as
// dynamic.
func builtWithStream(options []byte) bool {
	return slices.ContainsFunc(bytes.Fields(options), func(option []byte) bool { return string(option) == "--with-stream" })
}
