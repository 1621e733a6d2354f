package mgmt

import (
	"log/slog"
	"os"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/outbound"
)

// proxy returns the current proxy settings for outgoing connections.
func (m *manager) proxy() outbound.Proxy {
	cfg, _ := m.applier.Current()
	return outbound.Proxy{
		Plain:  m.proxyAddress(cfg.System.Proxy.ForHTTP, farm.SecretHTTPProxy),
		Secure: m.proxyAddress(cfg.System.Proxy.ForHTTPS, farm.SecretHTTPSProxy),
	}
}

// proxyAddress returns the address of a proxy with its password. If the password cannot be
// read, requests fail with the reason instead of bypassing the proxy.
func (m *manager) proxyAddress(p farm.ProxyServer, purpose string) string {
	at, err := p.Address(func(s farm.Secret) (string, error) { return apply.Reveal(m.certs, purpose, s) })
	switch {
	case err != nil:
		slog.Warn("the password of the proxy cannot be read: set it again", "error", err)
		return p.URL
	case at == nil:
		return ""
	}
	return at.String()
}

// allowOutbound allows mgmt to connect to the local addresses given at the start.
func allowOutbound() error {
	list, err := outbound.ParseAllowed(os.Getenv(supervisor.OutboundAllowVariable))
	if err == nil {
		outbound.Allow(list)
	}
	return err
}
