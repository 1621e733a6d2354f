// Package cloud keeps the credentials of one account of a cloud, and asks the cloud
// whether they are good: a cluster there moves addresses with them.
//
// Credentials are kept only after the cloud has taken them. Those it refuses are
// forgotten together with what was kept before: the appliance is logged out. Secrets
// are sealed with the node key and never answered.
//
// AWS is asked who the keys belong to (STS GetCallerIdentity), by a request signed
// with them; Azure for a token of the service principal. Both over HTTPS, through the
// operator's proxy.
package cloud
