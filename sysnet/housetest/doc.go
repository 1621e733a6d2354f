// Package housetest builds networks for tests out of network namespaces:
// clients, an appliance, backends and routers, joined by bridges and veth.
//
// Plan.Build makes the usual network in a call; House, Network and Namespace
// are what it is made of, for others. Everything is seen by the test alone:
// namespaces have no name in the file system, so that they end with the test's
// process, however it ends. Server and Ask are a backend that tells what it saw
// and a client that asks it; Capture records what passes a device.
//
// It takes root; without it tests are skipped.
package housetest
