// Package oidc lets people log in through a provider of OpenID Connect (Core 1.0): the
// authorization code flow with PKCE (RFC 7636), a state and a nonce, each good once and
// for ten minutes. The login is sealed into a cookie of the browser that began it, so
// that logins strangers begin take no room here.
//
// It says whom the provider vouches for, by a claim, and which group claims lead to;
// whether that user may log in mgmt/rbac says. It is off until it is switched on, asks
// https addresses only, and what they send is bounded in time and size. The secret of
// the client is kept sealed, not shown, and goes to no other issuer than it was given for.
package oidc
