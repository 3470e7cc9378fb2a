// Package address bounds what one network address may have: questions in a second, and things open at one time.
//
// It never asks who a caller is, nor where an address comes from; what it keeps is bounded, however many addresses
// there are. It imports nothing of ours.
package address

import "net/netip"

// Of is the address that counts for whoever uses addr. A customer of IPv6 has a network of 2^64 addresses at the
// least, so that counts as one; an address of IPv4 counts as itself, also where it is written as one of IPv6.
func Of(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if !addr.Is6() {
		return addr
	}
	network, _ := addr.Prefix(64) // fails for more bits than there are
	return network.Addr()
}
