//! How much work a schema from outside can be, found out before the library sees it.
//!
//! The library follows references by recursion and looks at every branch, so a schema of a few kilobytes could take all of
//! the stack (a long chain of `$ref`), all of the memory (patterns) or forever (`anyOf` of two references to the next
//! level, or to itself). What ordinary schemas have is far below these limits.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// How many subschemas there may be.
const NODES_MAX: usize = 5_000;
/// How many there may be with every reference written out.
const EXPANDED_MAX: u64 = 10_000;
/// How many subschemas may lie inside each other, references followed.
const DEPTH_MAX: usize = 100;
/// How deep the checks of a value may go, in subschemas. Each takes about a kilobyte of the stack.
const CALLS_MAX: usize = 400;
/// So deep a value may always be nested.
const NESTING_MIN: usize = 5;
const PATTERNS_MAX: usize = 30;

/// What a schema that may be used needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Complexity {
    depth: usize,
    is_recursive: bool,
}

impl Complexity {
    /// Measures a schema; the error says what is too much.
    pub(crate) fn of(schema: &Value) -> Result<Self, String> {
        let graph = Graph::of(schema)?;
        let components = graph.components();
        graph.check_recursion(&components)?;
        let (depth, expanded) = graph.measure(&components);
        if expanded > EXPANDED_MAX {
            return Err(format!(
                "has more than {EXPANDED_MAX} subschemas with its references written out; refer to fewer"
            ));
        }
        if depth > DEPTH_MAX {
            return Err(format!(
                "has more than {DEPTH_MAX} subschemas inside each other, references followed"
            ));
        }
        let is_recursive = (0..graph.nodes.len()).any(|node| graph.is_in_circle(node, &components));
        Ok(Self { depth, is_recursive })
    }

    /// Whether a value is nested too deeply to be checked.
    pub(crate) fn is_too_deep(self, value: &Value) -> bool {
        self.is_recursive && is_nested_over(value, (CALLS_MAX / self.depth.max(1)).max(NESTING_MIN))
    }
}

fn is_nested_over(value: &Value, depth: usize) -> bool {
    let Some(left) = depth.checked_sub(1) else { return value.is_array() || value.is_object() };
    match value {
        Value::Array(values) => values.iter().any(|value| is_nested_over(value, left)),
        Value::Object(fields) => fields.values().any(|value| is_nested_over(value, left)),
        _ => false,
    }
}

/// What a subschema is applied to. Two that are applied to the same value double the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Applies {
    Same,
    /// One of those of which only one applies to a property.
    Property,
    /// Beside the others.
    PropertyToo,
    Item,
    ItemToo,
    /// To a text, which has nothing inside.
    Name,
}

const KEYWORDS: &[(&str, Applies)] = &[
    ("not", Applies::Same),
    ("if", Applies::Same),
    ("then", Applies::Same),
    ("else", Applies::Same),
    ("allOf", Applies::Same),
    ("anyOf", Applies::Same),
    ("oneOf", Applies::Same),
    ("dependentSchemas", Applies::Same),
    ("dependencies", Applies::Same),
    ("extends", Applies::Same),
    ("properties", Applies::Property),
    ("additionalProperties", Applies::Property),
    ("patternProperties", Applies::PropertyToo),
    ("unevaluatedProperties", Applies::PropertyToo),
    ("propertyNames", Applies::Name),
    ("items", Applies::Item),
    ("prefixItems", Applies::Item),
    ("additionalItems", Applies::Item),
    ("contains", Applies::ItemToo),
    ("unevaluatedItems", Applies::ItemToo),
];
/// Keywords whose objects are schemas by name, not a schema.
const BY_NAME: &[&str] = &["dependentSchemas", "dependencies", "properties", "patternProperties"];

/// The subschemas that are applied, and to which others each leads.
#[derive(Debug, Default)]
struct Graph {
    nodes: Vec<Vec<(usize, Applies)>>,
}

/// Reads a schema into a graph.
struct Reader<'s> {
    root: &'s Value,
    graph: Graph,
    known: HashMap<*const Value, usize>,
    waiting: Vec<&'s Value>,
    patterns: usize,
}

impl Graph {
    fn of(schema: &Value) -> Result<Self, String> {
        let mut reader = Reader {
            root: schema,
            graph: Self::default(),
            known: HashMap::new(),
            waiting: Vec::new(),
            patterns: 0,
        };
        reader.node(schema)?;
        while let Some(schema) = reader.waiting.pop() {
            reader.read(schema)?;
        }
        Ok(reader.graph)
    }
}

impl<'s> Reader<'s> {
    fn node(&mut self, schema: &'s Value) -> Result<usize, String> {
        if let Some(node) = self.known.get(&std::ptr::from_ref(schema)) {
            return Ok(*node);
        }
        let node = self.graph.nodes.len();
        if node >= NODES_MAX {
            return Err(format!("has more than {NODES_MAX} subschemas"));
        }
        self.graph.nodes.push(Vec::new());
        self.known.insert(schema, node);
        self.waiting.push(schema);
        Ok(node)
    }

    fn read(&mut self, schema: &'s Value) -> Result<(), String> {
        let Value::Object(fields) = schema else { return Ok(()) };
        let node = self.node(schema)?;
        self.count_patterns(fields)?;
        let is_root = std::ptr::eq(schema, self.root);
        if !is_root && ["$id", "id"].iter().any(|word| fields.get(*word).is_some_and(Value::is_string)) {
            return Err("has an $id inside; give one to the whole schema only".to_owned());
        }
        for word in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(Value::String(reference)) = fields.get(word) {
                let target = self.target(reference)?;
                let target = self.node(target)?;
                self.lead(node, target, Applies::Same);
            }
        }
        for (word, applies) in KEYWORDS {
            match fields.get(*word) {
                Some(Value::Array(schemas)) => self.lead_to_all(node, schemas.iter(), *applies)?,
                Some(Value::Object(schemas)) if BY_NAME.contains(word) => {
                    self.lead_to_all(node, schemas.values(), *applies)?;
                }
                Some(schema @ Value::Object(_)) => {
                    self.lead_to_all(node, std::iter::once(schema), *applies)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn lead_to_all(
        &mut self,
        from: usize,
        schemas: impl Iterator<Item = &'s Value>,
        applies: Applies,
    ) -> Result<(), String> {
        for schema in schemas.filter(|schema| schema.is_object()) {
            let target = self.node(schema)?;
            self.lead(from, target, applies);
        }
        Ok(())
    }

    fn lead(&mut self, from: usize, to: usize, applies: Applies) {
        if let Some(node) = self.graph.nodes.get_mut(from) {
            node.push((to, applies));
        }
    }

    fn count_patterns(&mut self, fields: &Map<String, Value>) -> Result<(), String> {
        let named = fields.get("patternProperties").and_then(Value::as_object).map_or(0, Map::len);
        self.patterns += named + usize::from(fields.get("pattern").is_some_and(Value::is_string));
        if self.patterns > PATTERNS_MAX {
            return Err(format!("has more than {PATTERNS_MAX} patterns"));
        }
        Ok(())
    }

    /// What a reference leads to. Only what is plain to see is followed: a place in the same schema.
    fn target(&self, reference: &str) -> Result<&'s Value, String> {
        let pointer = reference.strip_prefix('#').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let pointer = pointer.map(|pointer| pointer.replace("%25", "%").replace("%24", "$"));
        pointer.and_then(|pointer| self.root.pointer(&pointer)).ok_or_else(|| {
            let shown: String = reference.chars().take(80).collect();
            format!("refers to {shown:?}, which is no place in the schema such as \"#/$defs/address\"")
        })
    }
}

impl Graph {
    fn leads(&self, node: usize) -> &[(usize, Applies)] {
        self.nodes.get(node).map_or(&[], Vec::as_slice)
    }

    /// The component of each node: nodes that lead to each other have the same. A component's number is larger than those
    /// that it leads to. Tarjan's algorithm, without recursion.
    fn components(&self) -> Vec<usize> {
        let count = self.nodes.len();
        let mut walk = Walk {
            index: vec![usize::MAX; count],
            low: vec![0; count],
            component: vec![usize::MAX; count],
            open: Vec::new(),
            entered: 0,
            components: 0,
        };
        for node in 0..count {
            if walk.index.get(node) == Some(&usize::MAX) {
                self.walk(node, &mut walk);
            }
        }
        walk.component
    }

    fn walk(&self, start: usize, walk: &mut Walk) {
        let mut path = vec![(start, 0)];
        walk.enter(start);
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            let Some((target, _)) = self.leads(node).get(*next) else {
                path.pop();
                walk.leave(node);
                if let Some((parent, _)) = path.last() {
                    let low = walk.low.get(node).copied().unwrap_or_default();
                    walk.lower(*parent, low);
                }
                continue;
            };
            *next += 1;
            if walk.index.get(*target) == Some(&usize::MAX) {
                walk.enter(*target);
                path.push((*target, 0));
            } else if walk.component.get(*target) == Some(&usize::MAX) {
                let index = walk.index.get(*target).copied().unwrap_or_default();
                walk.lower(node, index);
            }
        }
    }

    fn is_in_circle(&self, node: usize, components: &[usize]) -> bool {
        self.leads(node).iter().any(|(target, _)| components.get(*target) == components.get(node))
    }

    /// Refuses a schema in which one value is checked against the same subschema twice, and its parts four times.
    fn check_recursion(&self, components: &[usize]) -> Result<(), String> {
        for node in 0..self.nodes.len() {
            let back =
                self.leads(node).iter().filter(|(target, _)| components.get(*target) == components.get(node));
            let (mut same, mut properties, mut items) = (0, (0, 0), (0, 0));
            for (_, applies) in back {
                match applies {
                    Applies::Same => same += 1,
                    Applies::Property => properties.0 = 1,
                    Applies::PropertyToo => properties.1 += 1,
                    Applies::Item => items.0 = 1,
                    Applies::ItemToo => items.1 += 1,
                    Applies::Name => {}
                }
            }
            if same + (properties.0 + properties.1).max(items.0 + items.1) > 1 {
                return Err(
                    "refers to itself in several ways that apply to the same value, such as two branches of \
                            anyOf, so that the check of a nested value could take forever"
                        .to_owned(),
                );
            }
        }
        Ok(())
    }

    /// How deep the first node goes, and how many nodes there are with every reference written out. A circle counts once.
    fn measure(&self, components: &[usize]) -> (usize, u64) {
        // Components lead to smaller ones only.
        let count = components.iter().max().map_or(0, |last| last + 1);
        let mut members = vec![Vec::new(); count];
        for (node, component) in components.iter().enumerate() {
            if let Some(members) = members.get_mut(*component) {
                members.push(node);
            }
        }
        let mut measured: Vec<(usize, u64)> = Vec::with_capacity(count);
        for (component, nodes) in members.iter().enumerate() {
            let (mut deepest, mut expanded) = (0, nodes.len() as u64);
            for (target, _) in nodes.iter().flat_map(|node| self.leads(*node)) {
                let of_target = components.get(*target).filter(|of_target| **of_target != component);
                if let Some((depth, size)) = of_target.and_then(|of_target| measured.get(*of_target)) {
                    deepest = deepest.max(*depth);
                    expanded = expanded.saturating_add(*size);
                }
            }
            measured.push((deepest + nodes.len(), expanded));
        }
        let first = components.first().and_then(|component| measured.get(*component));
        first.copied().unwrap_or_default()
    }
}

struct Walk {
    index: Vec<usize>,
    low: Vec<usize>,
    component: Vec<usize>,
    /// Nodes whose component is not known yet.
    open: Vec<usize>,
    entered: usize,
    components: usize,
}

impl Walk {
    fn enter(&mut self, node: usize) {
        for numbers in [&mut self.index, &mut self.low] {
            if let Some(number) = numbers.get_mut(node) {
                *number = self.entered;
            }
        }
        self.entered += 1;
        self.open.push(node);
    }

    fn lower(&mut self, node: usize, low: usize) {
        if let Some(own) = self.low.get_mut(node) {
            *own = low.min(*own);
        }
    }

    /// All that a node leads to is known. If it is the first of its component, that is whole.
    fn leave(&mut self, node: usize) {
        if self.low.get(node) != self.index.get(node) {
            return;
        }
        while let Some(member) = self.open.pop() {
            if let Some(component) = self.component.get_mut(member) {
                *component = self.components;
            }
            if member == node {
                break;
            }
        }
        self.components += 1;
    }
}

#[cfg(test)]
mod tests;
