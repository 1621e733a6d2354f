// Package housetest builds test networks from network namespaces: clients, an appliance,
// backends and routers, connected by bridges and veth.
//
// Plan.Build makes the usual network. House, Network and Namespace are its parts, for
// other topologies. The namespaces have no name in the file system, so that they end with
// the test process in any case. Server is a backend that reports what it saw, Ask a
// client of it. Capture records the frames of a device.
//
// It needs root; otherwise tests are skipped.
package housetest
