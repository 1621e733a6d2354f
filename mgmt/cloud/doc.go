// Package cloud stores the credentials of one cloud account, and checks them with the
// cloud. A cluster there moves addresses with them.
//
// Credentials are stored only after the cloud has accepted them. If it refuses them, the
// stored ones are removed as well: the appliance is logged out. Secrets are sealed with the
// node key and are never in an answer.
//
// The check for AWS queries the account of the keys (STS GetCallerIdentity) with a request
// signed with them. The check for Azure requests a token of the service principal. Both use
// HTTPS through the operator's proxy.
package cloud
