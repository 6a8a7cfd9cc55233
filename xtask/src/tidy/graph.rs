//! A directed graph of names, and its circles (strongly connected components).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Who names whom, and where. Nodes are files, folders, modules: whatever a rule calls them.
#[derive(Debug, Default)]
pub(super) struct Graph {
    arrows: BTreeMap<String, BTreeMap<String, Place>>,
}

/// The line an arrow was found in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) line: usize,
}

/// A strongly connected component of more than one node.
#[derive(Debug)]
pub(super) struct Circle {
    /// How many nodes reach each other.
    pub(super) size: usize,
    /// One of the shortest ways around, by name: it begins and ends with the same node.
    pub(super) example: Vec<String>,
    /// Where the first arrow of the example stands.
    pub(super) place: Place,
}

impl Graph {
    /// Adds an arrow. A node that names itself is no circle; of several arrows between two nodes the first counts.
    pub(super) fn add(&mut self, from: &str, to: &str, place: Place) {
        if from != to {
            self.arrows.entry(from.to_owned()).or_default().entry(to.to_owned()).or_insert(place);
        }
    }

    /// Every circle, ordered by its first node.
    pub(super) fn circles(&self) -> Vec<Circle> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.arrows.keys().map(|node| (node.as_str(), self.reached_from(node))).collect();
        let leads = |from: &str, to: &str| reached.get(from).is_some_and(|nodes| nodes.contains(to));
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut circles = Vec::new();
        for node in self.arrows.keys().map(String::as_str) {
            if seen.contains(node) || !leads(node, node) {
                continue;
            }
            let members: Vec<&str> =
                reached.keys().copied().filter(|other| leads(node, other) && leads(other, node)).collect();
            seen.extend(&members);
            circles.extend(self.circle(&members));
        }
        circles
    }

    fn circle(&self, members: &[&str]) -> Option<Circle> {
        let ways = members.iter().filter_map(|node| self.way_around(node));
        let example = ways.min_by_key(Vec::len)?;
        let (from, to) = (example.first()?, example.get(1)?);
        let place = self.arrows.get(from)?.get(to)?.clone();
        Some(Circle { size: members.len(), example, place })
    }

    fn next(&self, node: &str) -> impl Iterator<Item = &str> {
        self.arrows.get(node).into_iter().flat_map(|targets| targets.keys().map(String::as_str))
    }

    /// All nodes that can be reached; the node itself only by way of others.
    fn reached_from(&self, node: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&str> = self.next(node).collect();
        while let Some(other) = open.pop() {
            if reached.insert(other) {
                open.extend(self.next(other));
            }
        }
        reached
    }

    /// The shortest way from a node back to itself (breadth-first search).
    fn way_around(&self, start: &str) -> Option<Vec<String>> {
        let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
        let mut open = VecDeque::from([start]);
        while let Some(node) = open.pop_front() {
            for other in self.next(node) {
                if other == start {
                    let mut way = vec![start.to_owned(), node.to_owned()];
                    while let Some(before) = way.last().and_then(|last| came_from.get(last.as_str())) {
                        way.push((*before).to_owned());
                    }
                    way.reverse();
                    return Some(way);
                }
                if !came_from.contains_key(other) {
                    came_from.insert(other, node);
                    open.push_back(other);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arrows: &[(&str, &str)], expected: &[(usize, &str)]) {
        let mut graph = Graph::default();
        for (line, (from, to)) in (1..).zip(arrows) {
            graph.add(from, to, Place { path: (*from).to_owned(), line });
        }
        let circles = graph.circles();
        let found: Vec<(usize, String)> =
            circles.iter().map(|circle| (circle.size, circle.example.join(" "))).collect();
        let expected: Vec<(usize, String)> =
            expected.iter().map(|(size, example)| (*size, (*example).to_owned())).collect();
        assert_eq!(found, expected, "{arrows:?}");
    }

    #[test]
    fn a_graph_without_circles() {
        check(&[], &[]);
        check(&[("a", "a")], &[]);
        check(&[("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")], &[]);
    }

    #[test]
    fn circles_with_their_size_and_shortest_way_around() {
        check(&[("a", "b"), ("b", "a")], &[(2, "a b a")]);
        check(&[("x", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "y")], &[(3, "a b c a")]);
        // Two ways around in one component: the shorter is told.
        check(&[("a", "b"), ("b", "c"), ("c", "a"), ("c", "b")], &[(3, "b c b")]);
        // Two components, one of which leads to the other.
        check(&[("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "c")], &[(2, "a b a"), (2, "c d c")]);
    }

    #[test]
    fn a_circle_knows_where_it_can_be_cut() {
        let mut graph = Graph::default();
        let place = |line| Place { path: "a".to_owned(), line };
        graph.add("a", "b", place(3));
        graph.add("a", "b", place(9));
        graph.add("b", "a", place(5));
        let places: Vec<Place> = graph.circles().into_iter().map(|circle| circle.place).collect();
        assert_eq!(places, [place(3)]);
    }
}
