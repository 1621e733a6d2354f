package outbound

import (
	"cmp"
	"context"
	"net"
)

// guarded dials like direct, but for connections to the proxies themselves.
func (o Options) guarded(direct *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	free := &net.Dialer{Timeout: o.Timeout}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		p := o.setting()
		for _, text := range []string{p.Plain, p.Secure} {
			if u, err := parse(text); err == nil && u != nil && address == net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"https": "443", "socks5": "1080"}[u.Scheme], "80")) {
				return free.DialContext(ctx, network, address)
			}
		}
		return direct.DialContext(ctx, network, address)
	}
}
