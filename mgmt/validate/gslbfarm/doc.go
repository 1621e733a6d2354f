// Package gslbfarm has the fields and rules of gslb farms, their services, zones, records and
// keys.
package gslbfarm
