import { Anchor, FileButton, Text } from '@mantine/core';
import { Icon } from '../../ui/Icon';
import { notifyError } from '../../ui/notify';
import classes from '../columns/Columns.module.css';
import { RECIPES } from './builtIn';
import type { Recipe } from '../model/recipe';
import { parseRecipe } from './recipe';

/** Recipes to choose from: those that come with Rowmill, and one from a file. */
export function RecipeList({ onChoose }: { onChoose: (recipe: Recipe) => void }) {
  const read = async (file: File | null) => {
    if (!file) return;
    try {
      onChoose(parseRecipe(await file.text()));
    } catch (error) {
      notifyError(error, 'The recipe cannot be used');
    }
  };
  return (
    <>
      <Text component="h3" size="sm" fw={620} mt="sm" mb={0}>
        Recipes: several columns at once
      </Text>
      {RECIPES.map((recipe) => (
        <button key={recipe.name} type="button" className={classes.template} onClick={() => onChoose(recipe)}>
          <span className={classes.templateIcon} aria-hidden>
            <Icon name="wand" size={20} />
          </span>
          <span>
            <Text component="span" display="block" fw={620} size="sm">
              {recipe.name}
            </Text>
            <Text component="span" display="block" size="sm" c="dimmed">
              {recipe.about}
            </Text>
          </span>
        </button>
      ))}
      <Text size="sm" c="dimmed">
        <FileButton accept="application/json,.json" onChange={(file) => void read(file)}>
          {(props) => (
            <Anchor component="button" type="button" size="sm" underline="always" {...props}>
              Use a recipe from a file
            </Anchor>
          )}
        </FileButton>
        . To save the columns of a table as a recipe, press Ctrl + K and type “recipe”.
      </Text>
    </>
  );
}
